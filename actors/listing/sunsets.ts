/** The pure parts of announced sunsets of versions: their times and their announcements. */
import { type ActionSpec, DEPRECATION_MS, deprecationOf, majorOf } from '../../protocols/action.ts';
import { parseAction } from '../../protocols/envelope.ts';
import { entryPointEventsTopic } from '../../protocols/task.ts';
import { type Publish, type Reply, wallOf } from '../../protocols/statechart.ts';
import { type Args, type ArgsOf, type ListingContext, on, type Sunset } from './types.ts';

/** Between two announcements of the same end. */
export const NOTICE_MS = 24 * 3_600_000;

const isOf =
  ({ action, major }: Pick<Sunset, 'action' | 'major'>) =>
  (spec: ActionSpec): boolean =>
    spec.action === action && majorOf(spec.action_version) === major;

const askedOf = ({ action, major, sunset_at }: Deprecate['event']): Sunset => ({
  action,
  major,
  sunset_at,
});
type Deprecate = ArgsOf<'registry.deprecate_action'>;

const actionsOf = ({ registration }: ListingContext): readonly ActionSpec[] =>
  registration?.actions ?? [];

export const isNoOffer = on(
  'registry.deprecate_action',
  ({ context, event }): boolean => !actionsOf(context).some(isOf(askedOf(event))),
);
/** Whether the time is invalid or earlier than 30 days from now. */
export const isTooSoon = on(
  'registry.deprecate_action',
  ({ event }): boolean =>
    !(Date.parse(askedOf(event).sunset_at) >= wallOf(event.meta) + DEPRECATION_MS),
);

/** The newest announcement counts, so that a sunset can be postponed. */
export const deprecate = on(
  'registry.deprecate_action',
  ({ context, event }): Partial<ListingContext> => {
    const sunset = askedOf(event);
    const others = context.sunsets.filter(
      ({ action, major }) => action !== sunset.action || major !== sunset.major,
    );
    return { sunsets: [...others, sunset] };
  },
);

/** Removes the sunsets of versions that a new registration no longer offers. */
export const stillOffered = (
  sunsets: readonly Sunset[],
  actions: readonly ActionSpec[],
): readonly Sunset[] => sunsets.filter((sunset) => actions.some(isOf(sunset)));

/** The actions in the form of the registry's rows. */
export const withSunsets = (context: ListingContext): readonly ActionSpec[] =>
  actionsOf(context).map((spec) => {
    const sunset = context.sunsets.find((one) => isOf(one)(spec));
    return sunset ? { ...spec, deprecated: true, sunset_at: sunset.sunset_at } : spec;
  });

/** The sunsets that the registry announced, and those in the registration itself. */
export const announced = (context: ListingContext): readonly Sunset[] =>
  withSunsets(context).flatMap(({ action, action_version, sunset_at }) =>
    sunset_at === undefined ? [] : [{ action, major: majorOf(action_version), sunset_at }],
  );

/**
 * MAJOR versions that a new registration of an external agent omits before their announced end, or
 * without an announcement. Local agents are exempt, because their offers change during a rollout;
 * an operator may remove versions that cannot be served any more.
 */
const droppedBy = ({
  context,
  event,
}: ArgsOf<'registry.register_agent'>): readonly ActionSpec[] => {
  const { url, actions } = event;
  if (url === undefined || event.meta.principal?.roles.includes('operator')) return [];
  return withSunsets(context)
    .filter(({ sunset_at }) => !(Date.parse(sunset_at ?? '') <= wallOf(event.meta)))
    .filter(({ action, action_version }) => {
      const isIt = isOf({ action, major: majorOf(action_version) });
      return !actions.some(isIt);
    });
};
export const isDropping = on(
  'registry.register_agent',
  (args): boolean => droppedBy(args).length > 0,
);

const toCome = (context: ListingContext, now: number): readonly Sunset[] =>
  announced(context).filter(({ sunset_at }) => Date.parse(sunset_at) > now);

export const somethingGoes = ({ context, event }: Args): boolean =>
  toCome(context, wallOf(event.meta)).length > 0;
export const gatherNotices = ({ context, event }: Args): Partial<ListingContext> => ({
  notices: toCome(context, wallOf(event.meta)),
});
export const dropNotice = ({ context }: Args): Partial<ListingContext> => ({
  notices: context.notices.slice(1),
});

export const notice = ({ context }: Args): Publish => {
  const sunset = context.notices[0]!;
  const deprecation = deprecationOf(context.agentId, sunset, actionsOf(context));
  return {
    topic: entryPointEventsTopic(context.tenant, parseAction(sunset.action).domain),
    event: { type: deprecation.event, ...deprecation },
  };
};

export const stillDue = on('registry.register_agent', (args): Reply => {
  const [{ action, action_version, sunset_at }] = droppedBy(args) as [ActionSpec];
  const major = majorOf(action_version);
  const until =
    sunset_at === undefined
      ? 'announce its end by registry.deprecate_action at least 30 days ahead, and offer it until then'
      : `its end was announced for ${sunset_at}: offer it until then`;
  return {
    to: args.event.meta.reply,
    error: {
      code: 'INVALID_ARGUMENT',
      message: `version ${major} of ${action} is offered by ${args.context.agentId} and left out: ${until}`,
    },
  };
});

export const noOffer = on('registry.deprecate_action', ({ context, event }): Reply => {
  const { action, major } = askedOf(event);
  return {
    to: event.meta.reply,
    error: {
      code: 'NOT_FOUND',
      message: `the agent ${context.agentId} does not offer version ${major} of ${action}`,
    },
  };
});
export const tooSoon = on(
  'registry.deprecate_action',
  ({ event }): Reply => ({
    to: event.meta.reply,
    error: {
      code: 'INVALID_ARGUMENT',
      message: `sunset_at is ${JSON.stringify(askedOf(event).sunset_at)}: name a time at least 30 days from now`,
      details: { earliest: new Date(wallOf(event.meta) + DEPRECATION_MS).toISOString() },
    },
  }),
);
