/** The hook that sees every message before its session receives it. */
import type { ImagePart } from '../../../protocols/content.ts';

/**
 * Called before the session receives a message. The hook may change the text, or refuse the message
 * with a reason. It must not throw. A message that the client sends again calls the hook again.
 */
export type OnMessage = (
  message: {
    readonly text: string;
    readonly channel: string;
    readonly sender?: string;
    readonly images: readonly ImagePart[];
  },
  about: { readonly agentId: string; readonly sessionKey: string; readonly runId: string },
) => Promise<{ readonly text?: string; readonly refuse?: string } | undefined>;
