//! The words of `--help` that belong to no flag.

pub(super) const ABOUT: &str = "Move Kafka topics from one cluster to another, exactly once";

pub(super) const LONG_ABOUT: &str = "\
Move Kafka topics from one cluster to another, exactly once.

A plan file says which topics go where. Records, positions and the ledger of what was moved are \
committed on the target in the same transactions, so a run that is killed goes on where it was. The \
source is only read.";

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover init --source old:9092 --target new:9092 --out orders.toml
  onceover check orders.toml
  onceover run orders.toml
  onceover status orders.toml
  onceover reconcile orders.toml
";

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0         done, and proved where the verb proves; or a tail that was stopped by SIGINT or SIGTERM
            after a clean commit
  1         the proof found a difference, or nothing that it could compare
  2         the command line or the plan is wrong
  3         the source cluster failed or did not answer
  4         the target cluster failed or did not answer
  5         refused for safety
  6         another worker with the same name took over
  7         a check failed; nothing was written
  70        a fault of onceover
  130, 143  a one-shot run stopped by SIGINT, SIGTERM after a clean commit; anything stopped by a
            second one, its transaction aborted
";

pub(super) const ENVIRONMENT: &str = "\
Environment:
  ONCEOVER_LOG  log filter, in place of -v and -q: `debug`, `info,onceover::pipe=trace`

Stdout is data, stderr is talk. With --json an error is an object on stdout as well.";

pub(super) const INIT_EXAMPLES: &str = "\
Examples:
  onceover init --source old:9092 --target new:9092
  onceover init --source old-1:9092,old-2:9092 --target new:9092 --name orders-eu >orders-eu.toml

It reads which topics there are; neither cluster is changed.";

pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  onceover check orders.toml                          what could ruin the migration
  onceover check orders.toml --rate 50MiB/s           the same, for a copy of that speed
  onceover check orders.toml --out found              with checks.csv, acls.csv and schema-ids.csv
  onceover check orders.toml --print-resources sh     what has to be created and granted, as commands

It reads both clusters, a sample of the source's records among them, and changes neither. Every check is \
carried out, whatever the others find; docs/checks.md says what each is there for. Exit code 7 if a \
check fails.";

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  onceover run orders.toml                    copy all that is there now, then end
  onceover run orders.toml --tail             copy on until stopped
  onceover run orders.toml --json >done.json  the summary for a program

Start it on more machines with the same plan, and the workers share the lanes.

The first Ctrl-C or SIGTERM commits, hands the lanes over and ends; the second aborts the open \
transaction and leaves. After a crash the same command goes on where the last commit was.";

pub(super) const RECONCILE_EXAMPLES: &str = "\
Examples:
  onceover reconcile orders.toml                        prove what came since the last proof
  onceover reconcile orders.toml --full --out proof-2   prove everything again
  onceover reconcile orders.toml --no-ledger            audit a copy that another tool made
  onceover reconcile orders.toml --json | jq .result

It reads both clusters and writes partitions.csv, diff.csv, both manifests, summary.json and SHA256SUMS. \
Neither cluster is changed, but for the ledger on the target: it gets an entry that says how far each \
partition is proved, or how many of its keys differ.";

pub(super) const DIFF_EXAMPLES: &str = "\
Examples:
  onceover reconcile orders.toml --side target --out T                        at the new site
  onceover reconcile orders.toml --side source --scope T/scope.json --out S   at the old site
  onceover diff S T                                                           anywhere

It verifies both folders and writes diff.csv, partitions.csv, summary.json and SHA256SUMS. A folder without \
its manifest will do: then it names the buckets of keys that must be read again, and the commands for it.";

pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  onceover status orders.toml                    a line for each partition
  onceover status orders.toml --json             the same for a program
  onceover status orders.toml --ledger           every ledger entry, to hunt a fault
  onceover status orders.toml --ledger --json | jq 'select(.kind == \"fence\")'

It reads the ledger on the target, and lags from the source while that answers. It changes nothing, and \
may run beside workers.";
