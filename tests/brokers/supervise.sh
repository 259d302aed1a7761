# Runs one JVM that cannot outlive its owner. Nothing of it goes by name, only by the id of its child.
#
#   sh supervise.sh LOG DATA COMMAND...      stdin: a pipe that only the owner holds
#
# The owner reads the JVM's process id from stdout and keeps the pipe open for as long as it wants
# the JVM. However the owner ends, the system closes the pipe: then the JVM is killed and its data
# removed. If the JVM ends first, so does this, with its exit code.
log=$1 data=$2
shift 2
exec 3<&0 </dev/null
"$@" >"$log" 2>&1 3<&- &
jvm=$!
echo "$jvm"
exec >/dev/null 2>&1
(
    while read -r _ <&3; do :; done
    : >"$data/orphaned"
    kill -s KILL "$jvm"
) &
watch=$!
exec 3<&-
wait "$jvm"
code=$?
if [ -e "$data/orphaned" ]; then
    rm -rf "$data"
fi
kill -s KILL "$watch"
exit "$code"
