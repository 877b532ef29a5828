/** A pattern: a user's message and the agent that receives it. */
export type Pattern = {
  /** the agent that receives the message */
  readonly agentId: string;
  /** for real models */
  readonly said: string;
  /** for the offline model: the same message with the calls that a model would make */
  readonly saidOffline: string;
};

/** A call in the syntax of the offline model. */
export const call = (tool: string, args: object): string => `call ${tool} ${JSON.stringify(args)}`;
