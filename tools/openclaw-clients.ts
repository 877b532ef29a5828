/** Texts of docs/openclaw-compatibility.md: the tested clients and the differences. */

export const clientsRun = `## Connect a client

OpenClaw's programs read the address and the token from their own configuration, \`~/.openclaw/openclaw.json\`.
The token is in the file \`token\` of the data folder, or in \`gateway.auth.token\`. Use the address of any gateway of the cluster:

\`\`\`json
{ "gateway": { "mode": "remote", "remote": { "url": "ws://127.0.0.1:18789", "token": "…" } } }
\`\`\`

| client | start |
| --- | --- |
| CLI | \`openclaw agent --agent main -m hello\`, and all commands below |
| TUI | \`openclaw tui\` |
| node host | \`OPENCLAW_GATEWAY_TOKEN=… openclaw node run --host HOST --port 18789\`; then \`openclaw devices approve\` and \`openclaw nodes approve\`, or the same commands of \`troupe\`, if devices on the same machine are not approved automatically |
| Control UI | serve the static files \`dist/control-ui\` of the package and the gateway under one origin (a reverse proxy that forwards the WebSocket), and open \`http://…/#token=…\` |
| \`@openclaw/gateway-client\` | \`new GatewayClient({ url: "ws://127.0.0.1:18789", token })\` |

## Tested clients

OpenClaw 2026.9.6 from npm, unmodified, on its Node 24.21.0, by \`npm run test:openclaw\`; \`@openclaw/gateway-client\`
2026.9.1 by \`npm test\` on Node 20. Commands that are not listed were not tested.

| client | tested |
| --- | --- |
| CLI | \`health\`, \`status --deep\`, \`logs\`, \`gateway health\\|probe\\|call\\|usage-cost\`, \`system event\\|presence\\|heartbeat last\`, \`agent\` (also \`--json\`, long answers, other sessions, across kill -9), \`sessions compact\\|delete\`, \`models list\`, \`skills list\`, \`tasks list\`, \`channels status\`, \`cron add\\|edit\\|disable\\|enable\\|list\\|status\\|show\\|run\\|runs\\|rm\`, \`devices list\\|approve\\|reject\\|rotate\\|revoke\\|remove\`, \`nodes list\\|pending\\|approve\\|status\\|describe\\|invoke\\|rename\`, \`approvals pending\\|resolve\` |
| TUI | chat with streaming, tool cards, \`/status\`, \`/model\`, \`/session\`, \`/sessions\`, \`/new\`, stop by escape, kill -9 of the gateway between runs and during a run |
| node host | pairing, approval, describe, rename, \`system.which\`, \`system.run\`, reconnect, kill -9 of the gateway, rotation and revocation of the token, removal, rejection; the same commands also work with \`troupe node run\` |
| Control UI | chat with streaming, reload, kill -9 of the gateway, and the pages sessions, automations, agents, nodes, config, logs, usage, skills |
| \`@openclaw/gateway-client\` | two answers to one request, events without a gap, pairing, device token, revocation, kill -9, kill of one of two gateways during a run |

\`openclaw sessions\`, \`agents list\`, \`models status\`, \`config get\`, \`approvals get\` and \`gateway status\` read files of their
own machine and contact no gateway: they work, but show nothing of troupe. \`openclaw nodes invoke\` itself refuses
\`system.run\`; agents and other clients can invoke it. The Control UI calls some methods without a look at \`features.methods\`.
\`openclaw.approval.list\` and \`exec.approvals.get\` return empty results. These are not served, and its pages work without them: \`progressCard.get\`,
\`sessions.companion.state\`, \`sessions.observer.visibility\`, \`talk.catalog\`, \`update.status\`, \`plugins.list\`,
\`skills.library.list\`, \`skills.search\`, \`themes.list\`.`;

export const differences = `## Differences

- **Agents.** \`agents.create\`, \`agents.update\` and \`agents.delete\` apply at once and after a restart.
  In a single process troupe writes them into the configuration file, which defines the agents at
  every start, and then notifies the root actor. The former file is kept as \`.bak\`; comments are lost.
  In a cluster the journaled settings of the root define the agents: only these change. Names, emojis
  and avatars are stored in files of the gateways. \`workspace\` is refused: the configuration file names folders
  of agents (\`agents.agents[].workspace\`). \`deleteFiles\` is false by default; if set, the files move to
  \`trash\` in the data folder, except from a folder that the configuration names.
- **Configuration.** \`config.set\`, \`config.patch\` and \`config.apply\` require the \`hash\` of
  \`config.get\` as \`baseHash\`, validate the text as a start does, and replace the file atomically.
  Settings of agents (\`agents.agents\`, \`agents.defaults\`, \`messages.queue\`, \`budget\`) apply at once,
  except in a cluster (\`troupe config apply\`). Those in \`restart.paths\` of the answer apply at the next
  start: troupe does not restart itself. The keys are those of troupe (docs/config.md). Secrets are
  returned as \`__OPENCLAW_REDACTED__\`; if you send this value back, the secret is unchanged. The
  \`command\` of a secret can be set only on the machine.
- **Health and status** are computed once for all clients. They are at most a second old, or 600 times
  the duration of the computation if that is more. The event \`health\` is sent when the system becomes
  ready or unready, or its agents change.
- **Usage.** There are only totals per session, and per agent and day (UTC): a range of days selects
  sessions by their last activity. Messages and tool calls are not counted by range: \`sessions.usage\`
  returns 0 for them. \`usage.status\` is always empty, because troupe does not query providers' quotas.
  \`channels.status\` is empty, because there are no messengers yet.
- **Tools** have no profiles: policies are lists of names and groups (docs/tools.md). \`tools.catalog\`
  returns one profile, \`full\`.
- **Log.** \`logs.tail\` returns the last megabyte of the gateway's own process.`;
