#!/bin/bash
# Packs an installation that make-openclaw.program.mjs made: pack-openclaw.sh STATE NAME
# Only what an import reads: no caches, logs and private keys. Needs a Node with node:sqlite.
set -eu
state=$1 archive=$(dirname "$(realpath "$0")")/$2.tar.gz folder=$(mktemp -d)
cd "$state"
find openclaw.json workspace agents state devices -type f \
  \( -name '*.json' -o -name '*.jsonl' -o -name '*.jsonl.reset.*' -o -name '*.md' -o -name '*.sqlite' \) \
  ! -name '*trajectory*' ! -name 'openclaw-quarantine*' ! -name models.json 2> /dev/null |
  while read -r file; do
    mkdir -p "$folder/$(dirname "$file")"
    case $file in
      *.sqlite) node --no-warnings --input-type=module -e '
        import { DatabaseSync } from "node:sqlite";
        const db = new DatabaseSync(process.argv[1]);
        for (const table of ["trajectory_runtime_events", "diagnostic_events", "device_identities"])
          try { db.exec(`DELETE FROM ${table}`); } catch {}
        db.exec("PRAGMA wal_checkpoint(TRUNCATE); VACUUM INTO \x27" + process.argv[2] + "\x27");
        ' "$file" "$folder/$file" ;;
      *) cp "$file" "$folder/$file" ;;
    esac
  done
# The folder that the configuration names is not on the machine of a test.
sed -i 's#"/[^"]*/workspace"#"/home/ada/.openclaw/workspace"#' "$folder/openclaw.json"
tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner -cf - . | gzip -9 > "$archive"
rm -r "$folder"
