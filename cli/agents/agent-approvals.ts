/**
 * Reports commands that wait for an approval while `troupe agent` waits for its answer. It does not
 * ask in this terminal, because stdin may be the message. It prints once on stderr which command
 * waits and how to decide it from another terminal, so that the wait does not look like a hang.
 */
import type { ExecApproval } from '../../protocols/gateway/index.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';

/** Call the result when the session's key is known. Nothing is printed before. */
export function reportApprovals(
  client: GatewayClient,
  note: (text: string) => void,
): (sessionKey: string) => void {
  let ours: string | undefined;
  const reported = new Set<string>();
  const report = (approval: ExecApproval) => {
    if (approval.request.sessionKey !== ours || reported.has(approval.id)) return;
    reported.add(approval.id);
    note(noticeOf(approval));
  };
  const listed = () =>
    client.request('exec.approval.list', {}).then(
      (waiting) => waiting.forEach(report),
      () => {}, // without the scope or connection, another operator decides
    );
  client.on('exec.approval.requested', report);
  return (sessionKey) => {
    ours = sessionKey;
    void listed();
  };
}

const noticeOf = ({ id, request, expiresAtMs }: ExecApproval): string => {
  const [first = 'allow-once', ...others] = request.allowedDecisions;
  const until = new Date(expiresAtMs).toISOString();
  return [
    `a command waits for approval until ${until}:  ${request.command}`,
    `  answer in the page, in troupe chat, or: troupe approvals answer ${id} ${first} --why TEXT`,
    ...(others.length > 0 ? [`  (or ${others.join(', ')})`] : []),
  ].join('\n');
};
