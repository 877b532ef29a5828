/**
 * Errors of Slack's Web API: what is certain about a message after one, and what an operator can
 * do. Pure.
 *
 * Boundary: compares errors of the SDK by `code`, because the SDK is loaded at the first call.
 */
import type { ConnectOutput, SendOutcome } from '../../../protocols/channel.ts';
import { outcomeWithoutAnswer, unavailable } from '../network.ts';
import { notSent, rateLimited, refused, unknownOutcome } from '../outcomes.ts';

export const SERVICE = 'Slack';
/** Used when a 429 has no valid `Retry-After`. */
const DEFAULT_WAIT_MS = 30_000;

/** Slack may have done what was asked for; it says so of these errors. */
const UNCERTAIN = new Set([
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
]);
const TEMPORARY = new Set(['ratelimited', 'rate_limited', 'team_added_to_org']);

const TOKEN = 'copy the token from “OAuth & Permissions” of the app, or install the app again';
const INVITE = 'invite the app to the channel with /invite';
const REMEDIES: Readonly<Record<string, string>> = {
  invalid_auth: TOKEN,
  not_authed: TOKEN,
  token_revoked: TOKEN,
  token_expired: TOKEN,
  account_inactive: TOKEN,
  org_login_required: 'the workspace is being moved to an organization; wait until it is done',
  not_allowed_token_type: 'botToken is `xoxb-…`, appToken is `xapp-…` with connections:write',
  not_in_channel: INVITE,
  channel_not_found: INVITE,
  is_archived: 'the channel is archived; unarchive it',
  restricted_action: 'an administrator does not allow the app to post here',
  msg_too_long: 'the text is longer than Slack accepts',
  message_not_found: 'the message was deleted',
  cant_update_message: 'only messages of this app can be edited',
  edit_window_closed: 'the workspace does not allow edits any longer',
};

/** What the SDK throws; `code` says which of them it is. */
type SlackError = {
  readonly code?: string;
  readonly message?: string;
  readonly retryAfter?: number;
  readonly statusCode?: number;
  readonly data?: { readonly error?: string; readonly needed?: string };
};

/** The outcome of a message after the SDK threw. */
export function outcomeOfError(thrown: unknown): SendOutcome {
  const error = thrown as SlackError;
  const waitMs = waitMsOf(error);
  if (waitMs !== undefined) return notSent(rateLimited(SERVICE, waitMs));
  if (error.code === 'slack_webapi_platform_error') return platformOutcome(error);
  if (error.code !== 'slack_webapi_http_error') return outcomeWithoutAnswer(SERVICE, thrown);
  if (error.statusCode! >= 500) return unknownOutcome(`Slack answered ${error.statusCode}`);
  return refused('INVALID_ARGUMENT', `Slack answered ${error.statusCode}: check apiUrl`);
}

function platformOutcome(error: SlackError): SendOutcome {
  const name = error.data?.error ?? '';
  if (UNCERTAIN.has(name)) return unknownOutcome(`Slack answered ${name}`);
  return refused('FORBIDDEN', describe(error));
}

/** Why a connection was not established. */
export function endOfError(thrown: unknown): ConnectOutput {
  const error = thrown as SlackError;
  const waitMs = waitMsOf(error);
  if (waitMs !== undefined) return { error: rateLimited(SERVICE, waitMs), isFinal: false };
  const name = error.data?.error;
  const isRefused = error.code === 'slack_webapi_platform_error' && !UNCERTAIN.has(name ?? '');
  if (isRefused)
    return { error: { code: 'UNAUTHORIZED', message: describe(error) }, isFinal: true };
  return { error: unavailable(SERVICE, thrown).toData(), isFinal: false };
}

/** The error and what to do, such as `missing_scope`. */
function describe({ data }: SlackError): string {
  const name = data?.error ?? 'an unknown error';
  const remedy =
    name === 'missing_scope'
      ? `add the scope ${data?.needed} in “OAuth & Permissions” and install the app again`
      : REMEDIES[name];
  return `Slack refused the request: ${name.slice(0, 200)}${remedy === undefined ? '' : `; ${remedy}`}`;
}

function waitMsOf({ code, retryAfter, data, message }: SlackError): number | undefined {
  if (code === 'slack_webapi_rate_limited_error') return Math.ceil(retryAfter! * 1000);
  const isLimited = TEMPORARY.has(data?.error ?? '') || message?.startsWith('Retry header did not');
  return isLimited ? DEFAULT_WAIT_MS : undefined;
}
