/** Orders of an operator to one actor; the gateway records them in the audit. */
import type { ActorView } from '../../protocols/actor-view.ts';
import { Action, type ActionProps } from '../operations/action.tsx';
import type { ActorsGateway } from './gateway.ts';
import { strings } from './strings.ts';

type Props = {
  readonly gateway: ActorsGateway;
  readonly view: Pick<ActorView, 'actor' | 'status'>;
  onDone(this: void): void;
};

/** Statuses in which an actor does not process messages, and can continue. */
const HALTED = ['paused', 'suspended', 'quarantined'];

export const ActorOrders = ({ gateway, view: { actor, status }, onDone }: Props) => {
  const order = (name: keyof typeof strings.orders, more: Partial<ActionProps>) => (
    <Action
      key={name}
      label={strings.orders[name]}
      run={(why) => gateway.operate(`actors.${name}`, why === '' ? { actor } : { actor, why })}
      onDone={onDone}
      {...more}
    />
  );
  return (
    <div class="actor-orders">
      {HALTED.includes(status) && order('resume', { kind: 'primary' })}
      {status === 'active' && order('pause', { asks: 'why' })}
      {status === 'active' && order('quarantine', { asks: 'why' })}
      {order('restart', { asks: 'sure', kind: 'danger' })}
    </div>
  );
};
