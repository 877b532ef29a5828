/** Messages: rows, answers, messages to the agent, and inputs of the effects. Pure. */
import type { AgentAdmit, AgentRelease } from '../../protocols/agent.ts';
import { address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import {
  type BatchTicket,
  EMBEDDING_BATCHES_INDEX,
  type EmbeddingBatchRow,
  type SentBatch,
} from '../../protocols/embedding-batch.ts';
import type { Message, Project, Reply, Tell } from '../../protocols/statechart.ts';
import type { Args, BatchContext } from './types.ts';

type RowState = EmbeddingBatchRow['state'];

function rowOf({ context, event }: Args, state: RowState): EmbeddingBatchRow {
  const { ticket, upload, batchId, stored, usage, filesLeft } = context;
  const error = context.error ?? context.problem;
  return {
    agentId: ticket.agentId,
    state,
    startedAt: ticket.startedAt,
    updatedAt: event.meta.now,
    ...(upload && { model: upload.model, texts: upload.texts, left: upload.left }),
    ...(batchId !== null && { batchId }),
    ...(stored !== null && { stored, usage }),
    ...(error && { error }),
    ...(filesLeft.length > 0 && { filesLeft }),
  };
}

export const row = (args: Args, { state }: { state: RowState }): Project => ({
  index: EMBEDDING_BATCHES_INDEX,
  key: args.context.ticket.agentId,
  value: rowOf(args, state),
});
export const noRow = ({ context }: Args): Project => ({
  index: EMBEDDING_BATCHES_INDEX,
  key: context.ticket.agentId,
  value: null,
});

// ---- answers

export const answer = (args: Args, state: RowState): Reply => ({
  to: args.event.meta.reply,
  result: rowOf(args, state),
});
/** The answers of a batch that has ended are stored, although it is cancelled. */
export const toCancel = (args: Args): Reply =>
  answer(args, args.context.outcome === null ? 'cancelling' : 'storing');
export const isOpenAlready = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'CONFLICT',
    message: `a batch of agent '${context.ticket.agentId}' is open already`,
  },
});
export const isNotOpen = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'NOT_FOUND',
    message: `agent '${context.ticket.agentId}' has no open batch`,
  },
});

// ---- the agent, whose budgets count what is used

const toAgent = ({ ticket }: BatchContext, event: Message): Tell => ({
  to: address(ticket.tenant, 'agent', ticket.agentId),
  event,
});
/** As a run without a slot: a batch takes hours. */
export const admit = ({ context }: Args): Tell => {
  const event: AgentAdmit = { type: 'agent.admit', runId: context.ticket.ticket, nested: true };
  return toAgent(context, event);
};
export const release = ({ context }: Args): Tell => {
  const { ticket, usage } = context;
  const event: AgentRelease = { type: 'agent.release', runId: ticket.ticket, usage };
  return toAgent(context, event);
};

// ---- inputs

type State = Pick<Args, 'context'>;

export const ticketOf = ({ context }: State): BatchTicket => context.ticket;
const sentOf = ({ ticket, upload }: BatchContext): SentBatch => ({
  ...ticket,
  identity: upload!.identity,
});
export const createInput = ({ context }: State) => ({
  ...sentOf(context),
  file: context.upload!.file!,
});
export const findInput = ({ context }: State): SentBatch => sentOf(context);
export const batchInput = ({ context }: State) => ({
  ...sentOf(context),
  batchId: context.batchId!,
});
export const storeInput = ({ context }: State) => ({ ...sentOf(context), files: context.files });
export const releaseInput = ({ context: { ticket, upload, files } }: State) => ({
  ...ticket,
  ...defined({ identity: upload?.identity }),
  files: [...files, ...(upload?.file ? [upload.file] : [])],
});
