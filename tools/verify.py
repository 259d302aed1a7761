#!/usr/bin/env python3
"""Recomputes what a proof of onceover states, with nothing of onceover in it.

A second implementation of docs/digest.md, in another language and with another Kafka client: kafka-python,
where onceover uses librdkafka. It only reads; no group, no topic and no record is made anywhere.

    python3 -m pip install -r tools/requirements.txt

    python3 tools/verify.py vectors [--check docs/digest.md]
    python3 tools/verify.py partition --bootstrap HOST:PORT --topic T --partition P --from A --to B
    python3 tools/verify.py line PARTITIONS_CSV --topic T --partition P --source HOST:PORT --target HOST:PORT

Exit code: 0 all is as stated, 1 something is not, 2 it cannot be told (usage, no access, records gone).

Read it from top to bottom: the digest; the vectors; how records are read; one line of a proof; the command line.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
import time
from dataclasses import dataclass, field
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

import xxhash


class CannotTell(Exception):
    """Why there is no verdict; exit code 2."""


# ---- The digest: docs/digest.md, section by section ------------------------------------------------------

P = 2**61 - 1
"""The modulus of both lanes."""

BASES = tuple(
    xxhash.xxh3_64_intdigest(text) % P
    for text in (b"onceover sequence digest a 4", b"onceover sequence digest b 10")
)
"""The bases of lane a and lane b."""

NULL = b"\xff" * 8
"""The length that stands for null."""

Bytes = Optional[bytes]
Headers = List[Tuple[bytes, Bytes]]


def uint64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def framed(data: Bytes) -> bytes:
    """A field: its length and its bytes."""
    return NULL if data is None else uint64(len(data)) + data


def canonical(timestamp: Optional[int], kept: bool, key: Bytes, value: Bytes, headers: Headers) -> bytes:
    """The canonical form of a record. `kept` is false where the target overwrites timestamps."""
    parts = [b"\x01"]
    if not kept:
        parts.append(b"\x00")
    elif timestamp is None or timestamp == -1:
        parts.append(b"\x01")
    else:
        parts.append(b"\x02" + timestamp.to_bytes(8, "little", signed=True))
    parts += [framed(key), framed(value), uint64(len(headers))]
    for name, header_value in headers:
        parts += [framed(name), framed(header_value)]
    return b"".join(parts)


def record_digest(form: bytes) -> int:
    return xxhash.xxh3_128_intdigest(form)


@dataclass
class Sequence:
    """The sequence digest of the records pushed so far."""

    n: int = 0
    a: int = 0
    b: int = 0

    def push(self, digest: int) -> None:
        self.n += 1
        self.a = (self.a * BASES[0] + (digest & (2**64 - 1)) % P) % P
        self.b = (self.b * BASES[1] + (digest >> 64) % P) % P

    def __str__(self) -> str:
        return f"{self.n}:{self.a:016x}:{self.b:016x}"


# ---- The test vectors ------------------------------------------------------------------------------------

Vector = Tuple[Optional[int], bool, Bytes, Bytes, Headers]

VECTORS: List[Tuple[str, Vector]] = [
    ("none | ∅ | ∅ |", (None, True, None, None, [])),
    ("not kept | ∅ | ∅ |", (1700000000000, False, None, None, [])),
    ("0 | empty | empty |", (0, True, b"", b"", [])),
    (
        '1700000000123 | `"customer-17"` | `"{"total":42}"` '
        '| `"trace"` → `"abc"`, `"trace"` → ∅, empty → empty',
        (
            1700000000123,
            True,
            b"customer-17",
            b'{"total":42}',
            [(b"trace", b"abc"), (b"trace", None), (b"", b"")],
        ),
    ),
    ("−5 | `ff 00` | `80` | `fe` → `00`", (-5, True, b"\xff\x00", b"\x80", [(b"\xfe", b"\x00")])),
    (
        '1 | `"k"` | 1000 bytes, byte i is i mod 251 |',
        (1, True, b"k", bytes(i % 251 for i in range(1000)), []),
    ),
]

SEQUENCES: List[Tuple[str, List[int]]] = [
    ("nothing", []),
    ("1", [1]),
    ("4, 5, 6", [4, 5, 6]),
    ("1, 2, 3, 4, 5, 6", [1, 2, 3, 4, 5, 6]),
    ("6, 5, 4, 3, 2, 1", [6, 5, 4, 3, 2, 1]),
]


def vector_lines() -> Iterator[str]:
    """The tables of docs/digest.md, every number of them computed here."""
    yield "| lane | base | from |"
    yield "|---|---|---|"
    yield f"| a | `{BASES[0]:016x}` | `onceover sequence digest a 4` |"
    yield f"| b | `{BASES[1]:016x}` | `onceover sequence digest b 10` |"
    yield ""
    yield "| # | timestamp | key | value | headers | record digest |"
    yield "|---|---|---|---|---|---|"
    digests = [record_digest(canonical(*vector)) for _, vector in VECTORS]
    for number, ((text, _), digest) in enumerate(zip(VECTORS, digests), 1):
        yield f"| {number} | {text} | `{digest:032x}` |"
    yield ""
    yield "| sequence | sequence digest |"
    yield "|---|---|"
    for text, numbers in SEQUENCES:
        sequence = Sequence()
        for number in numbers:
            sequence.push(digests[number - 1])
        yield f"| {text} | `{sequence}` |"


def vectors(check: Optional[str]) -> int:
    """Prints the tables; with a document, says which of their lines it does not have."""
    if check is None:
        print("\n".join(vector_lines()))
        return 0
    with open(check, encoding="utf-8") as document:
        there = {line.strip() for line in document}
    missing = [line for line in vector_lines() if line not in there and line]
    for line in missing:
        print(f"computed, but not in {check}: {line}")
    if not missing:
        print(f"{check} has every line that was computed")
    return 1 if missing else 0


# ---- Reading ---------------------------------------------------------------------------------------------

KAFKA_PYTHON = "3.0.12"
"""The version whose inside `kafka_python` knows; requirements.txt pins it."""

IDLE = 60.0
"""Seconds without any progress after which reading is given up."""


@dataclass
class Reading:
    """What a range of a partition holds."""

    sequence: Sequence = field(default_factory=Sequence)
    tombstones: int = 0
    left_out: int = 0
    """Leading records that were asked to be left out of the digest and of every count."""
    first: Optional[int] = None
    last: Optional[int] = None
    append_time: int = 0
    """Records whose timestamp the broker has set (`LogAppendTime`)."""


def kafka_python():
    """kafka-python, with two of its habits changed:

    - It decodes header names as UTF-8 and calls a batch with any other name corrupt. Names are bytes to
      Kafka's protocol: here each byte becomes one character (Latin-1), which `names_as_bytes` turns back.
    - It falls over a control batch that compaction has emptied.
    """
    try:
        import kafka
        from kafka.consumer.fetcher import Fetcher
        from kafka.record import default_records
        from kafka.record.util import decode_varint
    except ImportError as error:
        raise CannotTell(f"{error}\nhint: python3 -m pip install -r tools/requirements.txt") from None
    if kafka.__version__ != KAFKA_PYTHON:
        raise CannotTell(
            f"kafka-python is {kafka.__version__}, this is written for {KAFKA_PYTHON}\n"
            "hint: python3 -m pip install -r tools/requirements.txt"
        )

    def read_record(batch):
        """One record of a batch of message format 2, as the protocol guide of Apache Kafka has it:
        length, attributes, timestamp delta, offset delta, key, value, number of headers, headers."""
        buffer = batch._buffer

        def number(at):
            return decode_varint(buffer, at)

        def nullable(at):
            length, at = number(at)
            if length < 0:
                return None, at
            if at + length > len(buffer):
                raise ValueError("a field ends behind its batch")
            return bytes(buffer[at : at + length]), at + length

        length, at = number(batch._pos)
        end = at + length
        at += 1  # attributes: none are defined
        delta, at = number(at)
        offset_delta, at = number(at)
        key, at = nullable(at)
        value, at = nullable(at)
        count, at = number(at)
        headers = []
        for _ in range(count):
            name, at = nullable(at)
            if name is None:
                raise ValueError("a header without a name")
            header_value, at = nullable(at)
            headers.append((name.decode("latin-1"), header_value))
        if at != end or count < 0:
            raise ValueError(f"a record of {length} bytes ends {at - end} bytes beside its end")
        batch._pos = at
        append_time = batch.timestamp_type == batch.LOG_APPEND_TIME
        timestamp = batch.max_timestamp if append_time else batch.first_timestamp + delta
        kind = default_records.ControlRecord if batch.is_control_batch else default_records.DefaultRecord
        offset = batch.base_offset + offset_delta
        return kind(length, offset, timestamp, batch.timestamp_type, key, value, headers)

    def contains_abort_marker(_, batch):
        marker = next(batch, None) if batch.is_control_batch else None
        return marker is not None and marker.abort

    default_records.DefaultRecordBatch._read_msg = read_record
    Fetcher.PartitionRecords._contains_abort_marker = contains_abort_marker
    return kafka


def names_as_bytes(headers: Iterable[Tuple[str, Bytes]]) -> Headers:
    return [(name.encode("latin-1"), value) for name, value in headers]


def read(
    where: "Cluster",
    topic: str,
    partition: int,
    begin: int,
    end: int,
    kept: bool,
    ignored: Iterable[bytes] = (),
    leave_out: int = 0,
) -> Reading:
    """Reads the committed records of offsets [begin, end)."""
    reading = Reading()
    if begin >= end:
        return reading
    kafka = kafka_python()
    ignored = frozenset(ignored)
    try:
        consumer = where.consumer(kafka)
        try:
            for record in records(kafka, consumer, where, topic, partition, begin, end):
                if reading.left_out < leave_out:
                    reading.left_out += 1
                    continue
                headers = names_as_bytes(record.headers)
                if ignored:
                    headers = [header for header in headers if header[0] not in ignored]
                form = canonical(record.timestamp, kept, record.key, record.value, headers)
                reading.sequence.push(record_digest(form))
                reading.tombstones += record.value is None
                reading.append_time += record.timestamp_type == 1
                reading.first = record.offset if reading.first is None else reading.first
                reading.last = record.offset
        finally:
            consumer.close()
    except kafka.errors.KafkaError as error:
        raise CannotTell(f"{where.side} `{where.bootstrap}`: {error}") from None
    return reading


def records(kafka, consumer, where: "Cluster", topic: str, partition: int, begin: int, end: int):
    """The records of [begin, end) as a read_committed consumer gets them; never waits for new ones."""
    if partition not in (consumer.partitions_for_topic(topic) or ()):
        raise CannotTell(f"{where.side} has no partition {partition} of a topic `{topic}`, or shows none")
    at = kafka.TopicPartition(topic, partition)
    log_start = consumer.beginning_offsets([at])[at]
    if begin < log_start:
        raise CannotTell(
            f"{where.side} {topic}-{partition} begins at offset {log_start} by now: "
            f"what was at {begin} cannot be read any more"
        )
    stable = consumer.end_offsets([at])[at]  # read_committed: the last stable offset
    if end > stable:
        raise CannotTell(
            f"{where.side} {topic}-{partition} is readable up to offset {stable}, not to {end}: "
            "the log is shorter, or a transaction is open"
        )
    consumer.assign([at])
    consumer.seek(at, begin)
    position, moved, told, count = begin, time.monotonic(), time.monotonic(), 0
    while position < end:
        for record in consumer.poll(timeout_ms=500).get(at, ()):
            if record.offset >= end:
                return
            count += 1
            yield record
        # Behind control records and aborted ones too, which no record tells of.
        now, before, position = time.monotonic(), position, consumer.position(at)
        if position > before:
            moved = now
        elif now - moved > IDLE:
            raise CannotTell(f"{where.side} {topic}-{partition}: no record for {IDLE:.0f} s at {position}")
        if now - told > 10 and sys.stderr.isatty():
            told = now
            print(f"{where.side} {topic}-{partition}: {count} records, at {position} of {end}", file=sys.stderr)


@dataclass
class Cluster:
    """A cluster and how to get in."""

    side: str
    bootstrap: str
    properties: Dict[str, str]

    def consumer(self, kafka):
        settings = dict(
            max_poll_records=10_000,
            fetch_max_bytes=16 << 20,
            max_partition_fetch_bytes=4 << 20,
            metrics_enabled=False,
        )
        settings.update(typed(self.properties, kafka.KafkaConsumer.DEFAULT_CONFIG))
        settings.update(
            bootstrap_servers=self.bootstrap.split(","),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            allow_auto_create_topics=False,
        )
        return kafka.KafkaConsumer(**settings)


OURS = {
    "allow_auto_create_topics",
    "auto_offset_reset",
    "bootstrap_servers",
    "enable_auto_commit",
    "group_id",
    "isolation_level",
    "key_deserializer",
    "value_deserializer",
}
"""Settings that would make it read something else."""


def properties(pairs: Iterable[str]) -> Dict[str, str]:
    """`name=value` pairs. Errors name the setting and never its value: it may be a secret."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip().replace(".", "_")
        if not equals or not name:
            raise CannotTell("a client property is written `name=value`")
        if re.search("password|secret|token", name) and not re.fullmatch(r"\$\{env:\w+\}", value):
            raise CannotTell(
                f"`{name}` is a secret: other users of this machine can see it in the command line\n"
                f"hint: put it into a variable and write --client-property '{name}=${{env:VARIABLE}}'"
            )
        settings[name] = re.sub(r"\$\{env:(\w+)\}", from_environment, value)
    return settings


def from_environment(reference: "re.Match[str]") -> str:
    value = os.environ.get(reference.group(1))
    if value is None:
        raise CannotTell(f"there is no variable `{reference.group(1)}`")
    return value


def typed(settings: Dict[str, str], defaults: Dict[str, object]) -> Dict[str, object]:
    """With the types that kafka-python wants."""
    result: Dict[str, object] = {}
    for name, value in settings.items():
        if name not in defaults or name in OURS:
            why = "has to stay as it is" if name in OURS else "is no setting of kafka-python's KafkaConsumer"
            raise CannotTell(f"`{name}` {why}")
        default = defaults[name]
        if isinstance(default, bool):
            if value.lower() not in ("true", "false"):
                raise CannotTell(f"`{name}` is `true` or `false`")
            result[name] = value.lower() == "true"
        elif isinstance(default, int):
            if not re.fullmatch(r"-?\d+", value):
                raise CannotTell(f"`{name}` is a whole number")
            result[name] = int(value)
        elif default is None or isinstance(default, str):
            result[name] = value
        else:
            raise CannotTell(f"`{name}` cannot be given as text")
    return result


# ---- One line of a proof ---------------------------------------------------------------------------------


def find_line(path: str, topic: str, partition: int) -> Tuple[int, Dict[str, str]]:
    """The line number of a partition in a partitions.csv, and its cells by column; without empty ones."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        lacking = {"topic", "partition"} - set(rows.fieldnames or ())
        if lacking:
            raise CannotTell(f"`{path}` has no column `{min(lacking)}`")
        found = [
            (rows.line_num, {name: cell for name, cell in row.items() if name and cell})
            for row in rows
            if (row["topic"] or "").lstrip("'") == topic and row["partition"] == str(partition)
        ]
    if len(found) != 1:
        raise CannotTell(f"`{path}` has {len(found)} lines of {topic}-{partition}")
    return found[0]


def stated_number(cells: Dict[str, str], column: str, absent: Optional[int] = None) -> int:
    cell = cells.get(column)
    if cell is None:
        if absent is None:
            raise CannotTell(f"the line states no `{column}`")
        return absent
    try:
        return int(cell)
    except ValueError:
        raise CannotTell(f"`{column}` is `{cell}`, not a number") from None


def source_range(cells: Dict[str, str]) -> Tuple[int, int]:
    begin = max(stated_number(cells, "start", 0), stated_number(cells, "source_log_start", 0))
    return begin, stated_number(cells, "fence")


def target_range(cells: Dict[str, str]) -> Tuple[int, int]:
    begin = max(stated_number(cells, "target_from", 0), stated_number(cells, "target_log_start", 0))
    return begin, stated_number(cells, "target_to")


def check_side(
    cells: Dict[str, str],
    where: Cluster,
    topic: str,
    partition: int,
    offsets: Tuple[int, int],
    kept: bool,
    ignored: List[bytes],
) -> bool:
    """Reads one side and says of each stated figure whether it is so. False if one is not."""
    side = where.side
    begin, end = offsets
    print(f"{side} {topic}-{partition}, offsets {begin} up to {end} (not included), at {where.bootstrap}")
    expired = stated_number(cells, f"expired_{side}", 0)
    reading = read(where, topic, partition, begin, end, kept, ignored, expired)
    if expired:
        print(f"  the first {reading.left_out} of them left out, {expired} stated as expired")
    computed = {
        "records": str(reading.sequence.n),
        "tombstones": str(reading.tombstones),
        "digest": str(reading.sequence),
    }
    agrees = True
    for what, value in computed.items():
        stated = cells.get(f"{side}_{what}")
        if stated is None:
            print(f"  {what:<11}{value}  (not stated)")
        elif stated == value:
            print(f"  {what:<11}{value}  agrees")
        else:
            agrees = False
            print(f"  {what:<11}{value}  DIFFERS: {stated} stated")
    if not agrees and kept and reading.append_time:
        print(
            f"  hint: the broker has set the timestamps of {reading.append_time} of these records; if the target "
            "overwrites timestamps, the proof does not count them: --timestamps-not-kept"
        )
    if not agrees and "compact" in cells.get("cleanup_policy", ""):
        print("  hint: the topic is compacted; compaction after the proof changes what can be read")
    return agrees


def line(arguments: argparse.Namespace) -> int:
    number, cells = find_line(arguments.partitions_csv, arguments.topic, arguments.partition)
    shared = properties(arguments.client_property)
    kept, ignored = not arguments.timestamps_not_kept, ignored_headers(arguments)
    print(f"{arguments.partitions_csv}, line {number}")
    agrees = []
    if arguments.source:
        where = Cluster("source", arguments.source, {**shared, **properties(arguments.source_property)})
        offsets = source_range(cells)
        agrees.append(
            check_side(cells, where, arguments.topic, arguments.partition, offsets, kept, ignored)
        )
    if arguments.target:
        where = Cluster("target", arguments.target, {**shared, **properties(arguments.target_property)})
        offsets = target_range(cells)
        topic = cells.get("target_topic", arguments.topic).lstrip("'")
        agrees.append(check_side(cells, where, topic, arguments.partition, offsets, kept, ignored))
    if not agrees:
        raise CannotTell("say where to read: --source HOST:PORT, --target HOST:PORT, or both")
    print("every stated figure is as read" if all(agrees) else "not every stated figure is as read")
    return 0 if all(agrees) else 1


def partition_(arguments: argparse.Namespace) -> int:
    where = Cluster("cluster", arguments.bootstrap, properties(arguments.client_property))
    reading = read(
        where,
        arguments.topic,
        arguments.partition,
        arguments.begin,
        arguments.end,
        not arguments.timestamps_not_kept,
        ignored_headers(arguments),
    )
    result = {
        "topic": arguments.topic,
        "partition": arguments.partition,
        "from": arguments.begin,
        "to": arguments.end,
        "timestamps_kept": not arguments.timestamps_not_kept,
        "records": reading.sequence.n,
        "tombstones": reading.tombstones,
        "digest": str(reading.sequence),
        "first_offset": reading.first,
        "last_offset": reading.last,
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name.replace('_', ' '):<16}{'none' if value is None else value}")
    return 0


# ---- The command line ------------------------------------------------------------------------------------


def ignored_headers(arguments: argparse.Namespace) -> List[bytes]:
    """Names as the bytes that were typed."""
    return [os.fsencode(name) for name in arguments.ignore_header]


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="verify.py", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)

    one = commands.add_parser("vectors", help="print the tables of docs/digest.md, computed")
    one.add_argument("--check", metavar="FILE", help="say instead which computed lines FILE does not have")

    one = commands.add_parser("partition", help="records, tombstones and digest of a range of offsets")
    one.add_argument("--bootstrap", required=True, metavar="HOST:PORT")
    reads(one)
    one.add_argument("--from", dest="begin", type=int, required=True, metavar="A", help="first offset")
    one.add_argument("--to", dest="end", type=int, required=True, metavar="B", help="offset behind the last")
    one.add_argument("--json", action="store_true", help="one JSON object")

    one = commands.add_parser("line", help="recompute one line of a proof's partitions.csv")
    one.add_argument("partitions_csv", metavar="PARTITIONS_CSV")
    one.add_argument("--source", metavar="HOST:PORT", help="without it the source is not read")
    one.add_argument("--target", metavar="HOST:PORT", help="without it the target is not read")
    reads(one)
    for side in ("source", "target"):
        text = f"as --client-property, for the {side} alone"
        one.add_argument(f"--{side}-property", action="append", default=[], metavar="NAME=VALUE", help=text)
    return parser


def reads(parser: argparse.ArgumentParser) -> None:
    """What every command that reads a partition takes."""
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partition", type=int, required=True)
    parser.add_argument(
        "--timestamps-not-kept", action="store_true", help="where the target overwrites timestamps (LogAppendTime)"
    )
    parser.add_argument(
        "--ignore-header", action="append", default=[], metavar="NAME", help="leave these headers out; repeatable"
    )
    parser.add_argument(
        "--client-property",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of kafka-python's KafkaConsumer, as security_protocol=SSL; secrets only as "
        "'sasl_plain_password=${env:VARIABLE}'; repeatable",
    )


def main() -> int:
    arguments = command_line().parse_args()
    try:
        if arguments.command == "vectors":
            return vectors(arguments.check)
        return line(arguments) if arguments.command == "line" else partition_(arguments)
    except (CannotTell, OSError) as error:
        print(f"cannot tell: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
