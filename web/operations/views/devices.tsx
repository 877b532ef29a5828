/** The devices: pairing requests, approved devices, and the capabilities of nodes. */
import { useState } from 'preact/hooks';
import { keptToken } from '../../address.ts';
import {
  type DeviceRequest,
  faceOf,
  nameOf,
  type NodeRequest,
  type NodeRow,
  type PairedDevice,
  rolesOf,
} from '../../devices.ts';
import { ConfirmDelete, Rename } from '../../sessions-view.tsx';
import { timeAgo } from '../../times.ts';
import { Empty } from '../list-view.tsx';
import { strings } from '../strings.ts';
import type { ViewProps } from '../view-props.ts';

const own = strings.devices;

type Act = (method: string, params: object) => void;

export const Devices = ({ view, workspace }: ViewProps) => {
  const { devices, trouble } = view;
  const { pending, nodePending, paired, nodes } = devices;
  const act: Act = (method, params) => void workspace.device(method, params);
  return (
    <main class="view sheet" aria-label={own.title}>
      {trouble !== undefined && (
        <p class="trouble failed" role="alert">
          {trouble}
        </p>
      )}
      <p>
        <a class="button" href="node.html" onClick={openNodePage}>
          {own.openNodePage}
        </a>
      </p>
      <ul class="devices" aria-live="polite">
        {pending.map((request) => (
          <DeviceQuestion key={request.requestId} request={request} act={act} />
        ))}
        {nodePending.map((request) => (
          <NodeQuestion key={request.requestId} request={request} act={act} />
        ))}
        {paired.map((device) => (
          <DeviceView
            key={device.deviceId}
            device={device}
            node={nodes.find(({ nodeId }) => nodeId === device.deviceId)}
            act={act}
          />
        ))}
      </ul>
      {pending.length + nodePending.length + paired.length === 0 && (
        <Empty icon="devices" {...own.empty} />
      )}
    </main>
  );
};

/**
 * A new tab has no token. It is passed after #, and the page removes it from the address at once.
 */
const openNodePage = (event: MouseEvent): void => {
  event.preventDefault();
  const token = encodeURIComponent(keptToken());
  window.open(`node.html${token && `#token=${token}`}`, '_blank', 'noopener');
};

const DeviceQuestion = ({ request, act }: { request: DeviceRequest; act: Act }) => (
  <li class="device asks" aria-label={own.approveDevice(nameOf(request))}>
    <p>
      <b>{own.approveDevice(nameOf(request))}</b>
    </p>
    <p class="muted">{faceOf(request)}</p>
    <p>
      {own.wantsRole(rolesOf(request))}
      {request.scopes && request.scopes.length > 0 && <code>{request.scopes.join(' ')}</code>}
    </p>
    <p class="muted">
      {own.deviceId} <code>{request.deviceId.slice(0, 16)}</code> · {timeAgo(request.ts)}
    </p>
    <Answers prefix="device.pair" requestId={request.requestId} act={act} />
  </li>
);

const NodeQuestion = ({ request, act }: { request: NodeRequest; act: Act }) => (
  <li class="device asks" aria-label={own.mayOffer(nameOf(request))}>
    <p>
      <b>{own.mayOffer(nameOf(request))}</b>
    </p>
    <Commands commands={request.commands} />
    <Answers prefix="node.pair" requestId={request.requestId} act={act} />
  </li>
);

const Answers = (props: { prefix: string; requestId: string; act: Act }) => {
  const { prefix, requestId, act } = props;
  return (
    <div class="answers">
      <button type="button" onClick={() => act(`${prefix}.approve`, { requestId })}>
        {own.approve}
      </button>
      <button type="button" class="danger" onClick={() => act(`${prefix}.reject`, { requestId })}>
        {own.reject}
      </button>
    </div>
  );
};

const DeviceView = (props: { device: PairedDevice; node: NodeRow | undefined; act: Act }) => {
  const { device, node, act } = props;
  const [mode, setMode] = useState<'shown' | 'renaming' | 'deleting'>('shown');
  const { deviceId, connected } = device;
  const name = nameOf(device);
  const isThere = node?.connected ?? connected ?? false;
  const lastSeen = node?.lastSeenAtMs ?? device.lastSeenAtMs;
  const renamed = (label: string | undefined) => {
    if (label?.trim()) act('device.pair.rename', { deviceId, label: label.trim() });
    setMode('shown');
  };
  return (
    <li class="device" aria-label={name}>
      {mode === 'renaming' ? (
        <Rename title={name} onDone={renamed} />
      ) : (
        <p>
          <b>{name}</b>
          <span class={isThere ? 'here' : 'muted'}>
            {isThere ? own.connectedNow : lastSeen ? timeAgo(lastSeen) : own.away}
          </span>
        </p>
      )}
      <p class="muted">
        {rolesOf(device)} · {faceOf(device)}
      </p>
      {node && <NodeState node={node} />}
      {mode === 'deleting' ? (
        <ConfirmDelete
          title={name}
          onDelete={() => act('device.pair.remove', { deviceId })}
          onBack={() => setMode('shown')}
        />
      ) : (
        <div class="answers">
          <button type="button" class="quiet" onClick={() => setMode('renaming')}>
            {own.rename}
          </button>
          <button type="button" class="quiet" onClick={() => setMode('deleting')}>
            {own.remove}
          </button>
        </div>
      )}
    </li>
  );
};

const NodeState = ({ node }: { node: NodeRow }) => (
  <>
    {node.approvalState !== undefined && node.approvalState !== 'approved' && (
      <p class="warn">{own.nodeNotApproved}</p>
    )}
    <Commands commands={node.commands} />
  </>
);

const Commands = ({ commands = [] }: { commands: readonly string[] | undefined }) =>
  commands.length === 0 ? null : (
    <p class="commands">
      {commands.map((command) => (
        <code key={command}>{command}</code>
      ))}
    </p>
  );
