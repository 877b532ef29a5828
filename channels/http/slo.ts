/** `GET /v1/slo`: whether the cell keeps what it promises, for operators (EN17). */
import { TroupeError } from '../../protocols/errors.ts';
import { type Metrics, SLO_HOURS_MAX, sloReport, type System } from '../../runtime/index.ts';
import { type Route, type RouteRequest, sendJson } from './route.ts';

export type SloRouteOptions = {
  readonly system: Pick<System, 'index' | 'deadLetters'>;
  readonly metrics: Pick<Metrics, 'ack'>;
  /** whose tasks are looked at when nobody is named */
  readonly tenant: string;
  readonly now: () => number;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless an operator asks */
  readonly operator: (request: RouteRequest) => Promise<unknown>;
};

export const sloRoutes = (options: SloRouteOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/slo',
    handle: async (incoming) => {
      const { system, metrics, operator, now } = options;
      await operator(incoming);
      const { index, deadLetters } = system;
      const hours = hoursOf(incoming.query.get('hours'));
      const tenant = incoming.query.get('tenant') ?? options.tenant;
      const report = await sloReport({ index, deadLetters, metrics, tenant, hours, now: now() });
      sendJson(incoming.response, 200, report);
    },
  },
];

function hoursOf(text: string | null): number {
  if (text === null) return SLO_HOURS_MAX;
  const hours = Number(text);
  if (Number.isSafeInteger(hours) && hours >= 1 && hours <= SLO_HOURS_MAX) return hours;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `hours is ${JSON.stringify(text.slice(0, 40))}; write a whole number from 1 to ${SLO_HOURS_MAX}`,
  );
}
