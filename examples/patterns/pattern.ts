/** A pattern: what a person says, to whom, and when all that follows from it is over. */
export type Pattern = {
  /** the agent that is told */
  readonly agentId: string;
  /** for models that understand words */
  readonly said: string;
  /** for the offline model: the same, with the calls that a model would make of it */
  readonly saidOffline: string;
};

/** A call as the offline model reads it. */
export const call = (tool: string, args: object): string => `call ${tool} ${JSON.stringify(args)}`;
