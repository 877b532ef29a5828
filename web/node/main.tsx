/** The page of a node: its identity, its host, and the user interface. */
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { keptToken, takeToken } from '../address.ts';
import { applyTheme, keptTheme } from '../theme.ts';
import { Book } from './book.ts';
import { camera } from './camera.ts';
import { canvas } from './canvas.ts';
import type { Capability } from './capability.ts';
import { firstNodeView, NodeHost, type NodeView } from './host.ts';
import type { DeviceKey } from '../../client/device-proof.ts';
import { openIdentity, type Unable, UnableError } from '../connection/identity.ts';
import { locationCapability } from './location.ts';
import { notifications } from './notifications.ts';
import { screenCapability } from './screen.ts';
import { Store } from '../store.ts';
import { strings as shared } from '../strings.ts';
import { language, strings } from './strings.ts';
import { CanvasView, Capabilities, Log, Name, Questions, Status } from './view.tsx';

const ALL: readonly Capability[] = [
  canvas,
  camera,
  screenCapability,
  locationCapability,
  notifications,
];
/** Some browsers report a changed permission only when it is queried. */
const LOOK_MS = 2_000;

type Device = { readonly identity: DeviceKey; readonly book: Book };

/** @throws UnableError */
const openDevice = async (): Promise<Device> => {
  const store = await Store.open().catch(() => {
    throw new UnableError('no-storage');
  });
  return { identity: await openIdentity(store, 'device'), book: new Book(store) };
};

const openHost = ({ identity, book }: Device, onChange: (view: NodeView) => void): NodeHost =>
  new NodeHost({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`,
    token: keptToken(),
    locale: language,
    identity,
    book,
    capabilities: ALL.filter(({ supported }) => supported()),
    onChange,
  });

const NodePage = ({ device }: { device: Device }) => {
  const [view, setView] = useState<NodeView>(firstNodeView);
  const [host] = useState(() => openHost(device, setView));
  useEffect(() => {
    void host.start();
    const timer = setInterval(() => void host.look(), LOOK_MS);
    return () => {
      clearInterval(timer);
      host.stop();
    };
  }, [host]);
  return (
    <main class="node">
      <h1>{strings.title}</h1>
      <p>{strings.about}</p>
      <Status connection={view.connection} deviceId={device.identity.deviceId} />
      <Questions
        questions={view.questions}
        all={ALL}
        onAnswer={(id, yes) => host.answer(id, yes)}
      />
      <CanvasView canvas={view.canvas} />
      <Capabilities all={ALL} permissions={view.permissions} onChange={() => void host.look()} />
      <Name onChange={() => host.renamed()} />
      <Log log={view.log} />
      <p>
        <a href="./">{strings.back}</a>
      </p>
    </main>
  );
};

const UnablePage = ({ why }: { why: Unable }) => (
  <main class="node">
    <h1>{strings.title}</h1>
    <p class="failed" role="alert">
      {shared.unable[why]}
    </p>
  </main>
);

takeToken();
applyTheme(keptTheme());
document.documentElement.lang = language;
document.title = strings.title;
const root = document.getElementById('app');
if (root) {
  openDevice().then(
    (device) => render(<NodePage device={device} />, root),
    (error) => {
      if (!(error instanceof UnableError)) throw error;
      render(<UnablePage why={error.why} />, root);
    },
  );
}
