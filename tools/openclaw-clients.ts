/** Words of docs/openclaw-compatibility.md: which clients were run, and what is different. */

export const clientsRun = `## Point a client at troupe

OpenClaw's programs find troupe by their own configuration, \`~/.openclaw/openclaw.json\`; the token is
in the file \`token\` of the data folder (or what \`gateway.auth.token\` says), the address that of any gateway of the cluster:

\`\`\`json
{ "gateway": { "mode": "remote", "remote": { "url": "ws://127.0.0.1:18789", "token": "…" } } }
\`\`\`

| client | started with |
| --- | --- |
| CLI | \`openclaw agent --agent main -m hello\`, and all commands below |
| TUI | \`openclaw tui\` |
| node host | \`OPENCLAW_GATEWAY_TOKEN=… openclaw node run --host HOST --port 18789\`; then \`openclaw devices approve\` and \`openclaw nodes approve\`, or the same of \`troupe\`, where nobody is let in by being on the same machine |
| Control UI | the static files \`dist/control-ui\` of the package behind one origin with the gateway (a reverse proxy that passes the WebSocket on), opened as \`http://…/#token=…\` |
| \`@openclaw/gateway-client\` | \`new GatewayClient({ url: "ws://127.0.0.1:18789", token })\` |

## Clients that were run

OpenClaw 2026.9.6 from npm, unmodified, on its Node 24.21.0, by \`npm run test:openclaw\`; \`@openclaw/gateway-client\`
2026.9.1 by \`npm test\` on Node 20. A command that is not named here was not tried.

| client | what is done |
| --- | --- |
| CLI | \`health\`, \`status --deep\`, \`logs\`, \`gateway health\\|probe\\|call\\|usage-cost\`, \`system event\\|presence\\|heartbeat last\`, \`agent\` (also \`--json\`, long answers, other sessions, across kill -9), \`sessions compact\\|delete\`, \`models list\`, \`skills list\`, \`tasks list\`, \`channels status\`, \`cron add\\|edit\\|disable\\|enable\\|list\\|status\\|show\\|run\\|runs\\|rm\`, \`devices list\\|approve\\|reject\\|rotate\\|revoke\\|remove\`, \`nodes list\\|pending\\|approve\\|status\\|describe\\|invoke\\|rename\`, \`approvals pending\\|resolve\` |
| TUI | chat with streaming, tool cards, \`/status\`, \`/model\`, \`/session\`, \`/sessions\`, \`/new\`, stop by escape, kill -9 of the gateway between runs and in one |
| node host | let in, approved, described, renamed, \`system.which\`, \`system.run\`, gone and back, kill -9 of the gateway, token rotated and revoked, removed, rejected; \`troupe node run\` is used by the same commands |
| Control UI | chat with streaming, reload, kill -9 of the gateway, and the pages sessions, automations, agents, nodes, config, logs, usage, skills |
| \`@openclaw/gateway-client\` | two answers on one request, events without a gap, pairing, device token, revocation, kill -9, one of two gateways killed in a run |

\`openclaw sessions\`, \`agents list\`, \`models status\`, \`config get\`, \`approvals get\` and \`gateway status\` read files of the
machine they run on and ask no gateway: they work, and say nothing of troupe. \`openclaw nodes invoke\` refuses
\`system.run\` by itself: agents and other clients may. The Control UI asks for a few methods that are not here
without looking at \`features.methods\` first (\`openclaw.approval.list\` and \`exec.approvals.get\` are served empty; \`progressCard.get\`,
\`sessions.companion.state\`, \`sessions.observer.visibility\`, \`talk.catalog\`, \`update.status\`, \`plugins.list\`,
\`skills.library.list\`, \`skills.search\`, \`themes.list\` are not): its pages work without.`;

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
- **Health and status** are counted once for everybody: at most a second old, or 600 times as long
  as counting takes where that is more. The event \`health\` comes when the system becomes ready or
  unready, or its agents others.
- **Usage.** Sums of a session's life and of an agent's day (UTC) are all there is: a range of days
  picks sessions by when they were active last. Messages and tool
  calls are not counted by range: \`sessions.usage\` has 0 for them. \`usage.status\` is always empty: troupe asks no
  provider for its quota. \`channels.status\` is empty: there are no messengers yet.
- **Tools** have no profiles: policies are lists of names and groups (docs/tools.md). \`tools.catalog\`
  names one profile, \`full\`.
- **Log.** \`logs.tail\` shows the last megabyte of the gateway's own process.`;
