#!/bin/bash
# Makes NAME.tar.gz with the built program of a version: make.sh PATH/dist/troupe.js NAME
# The folder is stopped in order once and killed at the end: in the middle of a reply
# (agent:main:work) and while a command waits for approval (agent:main:main).
set -eu
troupe() { node "$program" "$@"; }
program=$1
name=$2
folder=$(mktemp -d)
export HOME=$folder TROUPE_HOME=$folder/data TROUPE_TOKEN=the-stored-token TROUPE_PORT=18999
mkdir -p "$TROUPE_HOME"
start() {
  node "$program" start > "$folder/log" 2>&1 & process=$!
  for _ in $(seq 60); do troupe health > /dev/null 2>&1 && return; sleep 0.5; done
  cat "$folder/log"; exit 1
}
start
troupe agent -m 'Hello, I am Ada.'
troupe agent -m 'call write {"path":"notes.md","content":"kept by the old build"}'
troupe agent -m 'delegate to main: count the planets'
troupe cron add --id pulse --every 86400 -m 'Look at the servers.'
troupe cron run pulse
sleep 2
kill "$process"; wait "$process" || true
start
timeout 5 node "$program" agent -m 'call exec {"command":"touch asked"}' < /dev/null || true
timeout 4 node "$program" agent --session agent:main:work -m '[[words:150]] [[pace:20]]' || true
kill -9 "$process"; wait "$process" || true
tar --sparse -czf "$(dirname "$0")/$name.tar.gz" -C "$folder" data
rm -r "$folder"
