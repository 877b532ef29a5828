/** Names that servers and clients of the Agent2Agent protocol (A2A) of this project share. */

/**
 * URI of an extension in an agent card (`capabilities.extensions`): the agent does the work of a
 * message once per `messageId` of a caller, and answers a repeat with the same task. A client may
 * then repeat a message whose answer was lost.
 */
export const DEDUPLICATION_EXTENSION = 'urn:troupe:a2a:message-deduplication:1.0';
