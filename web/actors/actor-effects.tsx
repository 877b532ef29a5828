/** The open effects of an actor: attempt, age, what they wait for; cancel or decide one. */
import type { ActorEffect, ActorView } from '../../protocols/actor-view.ts';
import { Action, type ActionProps } from '../operations/action.tsx';
import type { ActorsGateway } from './gateway.ts';
import { strings } from './strings.ts';
import { times } from './times.ts';

type Props = {
  readonly gateway: ActorsGateway;
  readonly view: Pick<ActorView, 'actor' | 'effects'>;
  onDone(this: void): void;
};

export const ActorEffects = ({ gateway, view: { actor, effects }, onDone }: Props) =>
  effects.length === 0 ? null : (
    <section>
      <h3>{strings.effects}</h3>
      <ul class="actor-effects">
        {effects.map((effect) => (
          <li key={effect.id}>
            <About effect={effect} />
            <Orders {...{ gateway, actor, effect, onDone }} />
          </li>
        ))}
      </ul>
    </section>
  );

const About = ({ effect: { effect, state, attempt, since, lacks } }: { effect: ActorEffect }) => (
  <p>
    <code>{effect}</code> {strings.effectStates[state]}, {strings.attempt(attempt)},{' '}
    {times.span(Date.now() - since)}
    {lacks !== undefined && `, ${strings.lacks(lacks)}`}
  </p>
);

type OrdersProps = Omit<Props, 'view'> & { readonly actor: string; readonly effect: ActorEffect };

const Orders = ({ gateway, actor, effect: { id, state }, onDone }: OrdersProps) => {
  const cancel = (why: string) => gateway.operate('effects.cancel', { actor, id, why });
  const decide = (decision: string, more: object = {}) =>
    gateway.operate('effects.decide', { id, decision, ...more });
  const order = (
    name: keyof typeof strings.effectOrders,
    more: Omit<ActionProps, 'label' | 'onDone'>,
  ) => <Action key={name} label={strings.effectOrders[name]} onDone={onDone} {...more} />;
  return (
    <div class="actor-orders">
      {state === 'unknown'
        ? [
            order('again', { asks: 'sure', run: () => decide('again') }),
            order('done', {
              asks: 'output',
              run: async (text) => decide('done', { output: JSON.parse(text) as unknown }),
            }),
            order('failed', { asks: 'why', run: (why) => decide('failed', { why }) }),
          ]
        : order('cancel', { asks: 'why', kind: 'danger', run: cancel })}
    </div>
  );
};
