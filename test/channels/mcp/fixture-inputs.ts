/** Requests for input by the tools and prompts of the fixture server. */
import { inputRequired, type InputRequiredResult } from '@modelcontextprotocol/server';

type InputRequests = Parameters<typeof inputRequired>[0]['inputRequests'];
type Request = NonNullable<InputRequests>[string];
type Form = { readonly type: 'object' } & Readonly<Record<string, unknown>>;

/** A form with one required text. */
export const nameForm = (field = 'name'): Form => ({
  type: 'object',
  properties: { [field]: { type: 'string' } },
  required: [field],
});

export const confirmForm = (field = 'ok'): Form => ({
  type: 'object',
  properties: { [field]: { type: 'boolean' } },
  required: [field],
});

export const elicit = (message: string, requestedSchema: Form): Request =>
  ({ method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }) as Request;

export const sample = (question: string, maxTokens: number): Request => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: question } }], maxTokens },
});

export const LIST_ROOTS = { method: 'roots/list', params: {} } as Request;

/** Asks for all of these, each by a message and a form. */
export const askFor = (
  forms: Readonly<Record<string, readonly [string, Form]>>,
  requestState?: string,
): InputRequiredResult =>
  ask(
    Object.fromEntries(
      Object.entries(forms).map(([key, [message, form]]) => [key, elicit(message, form)]),
    ),
    requestState,
  );

export const ask = (
  inputRequests: Readonly<Record<string, Request>>,
  requestState?: string,
): InputRequiredResult =>
  inputRequired({ inputRequests, ...(requestState === undefined ? {} : { requestState }) });
