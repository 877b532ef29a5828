/**
 * What the parts of one tenant's gateway share: the system behind it and facts about the gateway.
 */
import type { ImagePart } from '../../../protocols/content.ts';
import type { TenantDevices } from '../devices/tenant-devices.ts';
import type { DeviceGuard } from '../auth/device-guard.ts';
import type { HealthReport } from './health-report.ts';
import type { Logger } from '../log.ts';
import type { Clock, Principal, System } from '../../../runtime/index.ts';
import type { GatewayAuth } from '../auth/access.ts';
import type { PendingApprovals } from './pending-approvals.ts';
import type { Audience } from '../streams/audience.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { ChatCommands } from './chat-commands.ts';
import type { Connection } from '../transport/connection.ts';
import type { ModelRules } from '../../model-choice.ts';
import type { MessageCounts } from '../sessions/message-counts.ts';
import type { Presence } from './presence.ts';
import type { RunBlocks } from '../streams/run-blocks.ts';
import type { Replay } from '../streams/replay.ts';
import type { LiveRuns } from '../streams/live-runs.ts';
import type { AgentNames } from '../sessions/session-key.ts';
import type { Watch } from '../streams/watch.ts';
import type { Setup } from '../setup.ts';

/**
 * Hears of a message before its session does (AL6): it may be changed, or refused with a reason.
 * Does not throw. A message that is sent again is heard of again.
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

export type TenantGateway = {
  readonly system: System;
  readonly tenant: string;
  /** the tenant is the installation's own: its people run it */
  readonly isHome: boolean;
  readonly names: AgentNames;
  readonly models: ModelRules;
  readonly authMode: GatewayAuth['mode'];
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** those of this tenant that have said hello; the set changes at any time */
  readonly connections: Set<Connection>;
  /** who is told what concerns everybody: operators that may read, also those that just left */
  readonly audience: Audience;
  readonly replay: Replay;
  readonly runs: LiveRuns;
  readonly presence: Presence;
  readonly health: HealthReport;
  /** absent where the process has none to show */
  readonly setup?: Setup | undefined;
  readonly approvals: PendingApprovals;
  readonly watch: Watch;
  readonly devices: TenantDevices;
  readonly guard: DeviceGuard;
  readonly audit: AuditTrail;
  readonly blocks: RunBlocks;
  readonly commands: ChatCommands;
  readonly counts: MessageCounts;
  readonly onMessage?: OnMessage | undefined;
  /** names this run of the gateway; differs after a restart */
  readonly bootId: string;
  /** monotonic milliseconds */
  readonly startedAt: number;
};

/** Everybody who shows the shared secret and no device is the same person. */
export const OPERATOR: Principal = { sub: 'operator', roles: ['operator'] };
