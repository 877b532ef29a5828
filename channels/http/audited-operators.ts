/** Records changes by operators over HTTP in the audit of their tenant. */
import type { Caller } from '../edge/edge.ts';
import type { Operator } from '../edge/identity/operator.ts';
import { AuditTrail, type AuditTrailOptions } from '../gateway/tenant/audit-trail.ts';

export class AuditedOperators {
  readonly #options: Omit<AuditTrailOptions, 'tenant' | 'gateway'>;
  readonly #trails = new Map<string, AuditTrail>();

  constructor(options: Omit<AuditTrailOptions, 'tenant' | 'gateway'>) {
    this.#options = options;
  }

  /** Authenticates as `operator`, and records each request that is not a read. */
  audited(operator: Operator): Operator {
    return async (incoming) => {
      const caller = await operator(incoming);
      const { method = 'GET', url = '/', socket } = incoming.request;
      if (method !== 'GET' && method !== 'HEAD') {
        const path = url.split(/[?#]/, 1)[0] ?? '/';
        this.record(caller, `${method} ${path}`, socket.remoteAddress);
      }
      return caller;
    };
  }

  /** Records a change that an operator requests. @param what as `POST /v1/keys` */
  record({ tenant, sub }: Pick<Caller, 'tenant' | 'sub'>, what: string, ip?: string): void {
    this.#trailOf(tenant).httpRequest(sub, what, ip);
  }

  /** Writes the records that are queued. */
  async close(): Promise<void> {
    await Promise.all([...this.#trails.values()].map((trail) => trail.close()));
  }

  #trailOf(tenant: string): AuditTrail {
    const known = this.#trails.get(tenant);
    if (known) return known;
    const trail = new AuditTrail({ ...this.#options, tenant, gateway: 'http' });
    this.#trails.set(tenant, trail);
    return trail;
  }
}
