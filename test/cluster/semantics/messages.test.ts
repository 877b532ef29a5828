/**
 * Messages on a cluster: delivery, order, mailboxes, dead letters, programs of two versions.
 *
 * Of `test/runtime/system` two stay embedded only: `damage`, which flips bytes of the LMDB file,
 * and `clock`, whose log has this process's clock.
 */
import { runOnNats } from '../on-nats.ts';

runOnNats('delivery', 'keys', 'mailbox', 'order', 'dead-letters', 'newer-format');
