/** Words of docs/openclaw-compatibility.md: which clients were run, and what is different. */

export const clientsRun = `## Clients that were run

OpenClaw 2026.9.6 from npm, unmodified, on Node 24. A command that is not named here was not tried.

| client | what was done |
| --- | --- |
| CLI | \`models list\`, \`health --json\`, \`status --deep\`, \`skills list\`, \`logs\`, \`gateway probe\`, \`gateway usage-cost\`, \`gateway call\`, \`channels status\` |
| Control UI | connect, chat, and the pages agents, settings, logs, usage, skills, overview, nodes |

\`openclaw agents list\`, \`models status\`, \`config get\` and \`gateway status\` read files of the
machine they run on and ask no gateway: they work, and say nothing of troupe.`;

export const differences = `## What is different

- **Agents.** \`agents.create\`, \`agents.update\` and \`agents.delete\` hold at once and after a
  restart. Where one process is all of troupe they are written into its configuration file, which
  says at every start what agents there are, and are then told to the root; the file before stays
  as \`.bak\`; comments are lost. In a cluster the root's journaled settings say what agents there
  are: only they change, and names, emojis and avatars stand in the files of the gateways.
  \`workspace\` is refused: troupe keeps the files of its agents itself. \`deleteFiles\` is false
  unless it is told; then the files go to \`trash\` in the data folder.
- **Configuration.** \`config.set\`, \`config.patch\` and \`config.apply\` need the \`hash\` of
  \`config.get\` as \`baseHash\`, check the text as a start would, and replace the file in one step.
  What agents are (\`agents.agents\`, \`agents.defaults\`, \`messages.queue\`, \`budget\`) holds at once,
  unless it is a cluster's (\`troupe config apply\`); the answer's \`restart.paths\` wait for the next
  start: troupe does not restart itself. Keys are troupe's (docs/config.md). Secrets come as
  \`__OPENCLAW_REDACTED__\`, and are kept where that is sent back. A secret's \`command\` can be
  written only on the machine.
- **Health and status** are counted once for everybody: at most a second old, or 200 times as long
  as counting takes where that is more. The event \`health\` comes when the system becomes ready or
  unready, or its agents others.
- **Usage.** Sums of a session's life and of an agent's day (UTC) are all there is: a range of days
  picks sessions by when they were active last. \`usage.status\` is always empty: troupe asks no
  provider for its quota. \`channels.status\` is empty: there are no messengers yet.
- **Tools** have no profiles: policies are lists of names and groups (docs/tools.md). \`tools.catalog\`
  names one profile, \`full\`.
- **Log.** \`logs.tail\` shows the last megabyte of the gateway's own process.`;
