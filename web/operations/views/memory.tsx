/** Memory: the notes of an agent, a search in them, and the lines that a result names. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { NoteHit, NoteInfo, NotesFound, NotesState } from '../../../protocols/memory.ts';
import { linkToView } from '../../routes.ts';
import { Icon } from '../../icons.tsx';
import { Failure } from '../list-view.tsx';
import { Pane } from '../pane.tsx';
import { useReading } from '../reading.ts';
import { strings } from '../strings.ts';
import type { ViewProps } from '../view-props.ts';

const own = strings.memory;
/** In a cluster the workspace may be fetched for it. */
const NOTES_EVERY_MS = 60_000;
/** The result of a search stays until the next one. */
const NEVER_MS = 2 ** 31 - 1;

type Agents = { readonly agents: readonly { readonly id: string }[]; readonly defaultId: string };

export const Memory = (props: ViewProps) => {
  const { route, workspace, go } = props;
  const { agent: asked, query = '', item, from = '', to = '' } = route.params;
  const agents = useReading('memory agents', () => workspace.request<Agents>('agents.list'));
  const agent = asked ?? agents.value?.defaultId;
  const show = (params: Record<string, string>) =>
    go(linkToView('memory', { ...(agent !== undefined && { agent }), query, ...params }));
  return (
    <main class="view" aria-label={own.title}>
      <div class="list">
        <Tools
          key={query}
          agents={agents.value?.agents.map(({ id }) => id) ?? []}
          agent={agent}
          query={query}
          onChange={(params) => go(linkToView('memory', params))}
        />
        <Failure reading={agents} />
        {agent !== undefined &&
          (query === '' ? (
            <Notes workspace={workspace} agent={agent} onOpen={(path) => show({ item: path })} />
          ) : (
            <Found
              workspace={workspace}
              agent={agent}
              query={query}
              onOpen={({ path, startLine, endLine }) =>
                show({ item: path, from: String(startLine), to: String(endLine) })
              }
            />
          ))}
      </div>
      {agent !== undefined && item !== undefined && (
        <Note
          workspace={workspace}
          agent={agent}
          path={item}
          lines={[Number(from), Number(to)]}
          onClose={() => show({})}
        />
      )}
    </main>
  );
};

const Tools = (props: {
  agents: readonly string[];
  agent: string | undefined;
  query: string;
  onChange: (params: Record<string, string>) => void;
}) => {
  const { agents, agent = '', query, onChange } = props;
  const [text, setText] = useState(query);
  return (
    <form
      class="toolbar"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onChange({ agent, query: text.trim() });
      }}
    >
      <label class="find">
        <Icon name="search" />
        <span class="hidden">{own.ask}</span>
        <input
          id="find"
          type="search"
          placeholder={own.ask}
          value={text}
          maxLength={2_000}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        {own.search}
      </button>
      <select
        aria-label={strings.agent}
        value={agent}
        onChange={({ currentTarget }) => onChange({ agent: currentTarget.value, query })}
      >
        {agents.map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
    </form>
  );
};

type Shown = Pick<ViewProps, 'workspace'> & { readonly agent: string };

const Notes = ({ workspace, agent, onOpen }: Shown & { onOpen: (path: string) => void }) => {
  const reading = useReading(
    `notes ${agent}`,
    () => workspace.operate<{ notes: readonly NoteInfo[] }>('memory.list', { agent }),
    NOTES_EVERY_MS,
  );
  const { notes } = reading.value ?? {};
  return (
    <section class="notes" aria-label={own.notes} tabIndex={0}>
      <Failure reading={reading} />
      {notes === undefined && reading.error === undefined && (
        <p class="loading">{strings.loading}</p>
      )}
      {notes?.length === 0 && <p class="muted">{own.none}</p>}
      <ul class="plain-list">
        {notes?.map(({ path, bytes }) => (
          <li key={path}>
            <button type="button" class="quiet" onClick={() => onOpen(path)}>
              <code>{path}</code>
            </button>{' '}
            <span class="muted">{own.bytes(bytes)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
};

const Found = (props: Shown & { query: string; onOpen: (hit: NoteHit) => void }) => {
  const { workspace, agent, query, onOpen } = props;
  const reading = useReading(
    `found ${agent} ${query}`,
    () => workspace.operate<NotesFound>('memory.search', { agent, query }),
    NEVER_MS,
  );
  const found = reading.value;
  return (
    <section class="notes" aria-label={own.found} tabIndex={0}>
      <Failure reading={reading} />
      {found === undefined && reading.error === undefined && (
        <p class="loading">{strings.loading}</p>
      )}
      {found && <State state={found} />}
      {found?.hits.length === 0 && <p class="muted">{own.nothingFound}</p>}
      {found?.hits.map((hit) => (
        <article key={citationOf(hit)}>
          <p>
            <button type="button" class="quiet" onClick={() => onOpen(hit)}>
              <code>{citationOf(hit)}</code>
            </button>{' '}
            <span class="muted">{hit.score.toFixed(2)}</span>
          </p>
          <pre class="text" tabIndex={0}>
            {hit.excerpt}
          </pre>
        </article>
      ))}
    </section>
  );
};

const State = ({ state }: { state: NotesState }) => {
  const { files, chunks, mode, model = '', whyText, left } = state;
  const by = whyText === undefined ? own.byWords : own.byWordsBecause(whyText);
  return (
    <p class="muted" role="status">
      {own.state(files, chunks)}, {mode === 'hybrid' ? own.byMeaning(model) : by}
      {left.map(({ path, why }) => (
        <span key={path} class="failed">
          {' '}
          {own.left(path, why)}
        </span>
      ))}
    </p>
  );
};

const citationOf = ({ path, startLine, endLine }: NoteHit): string =>
  `${path}#L${startLine}${endLine > startLine ? `-L${endLine}` : ''}`;

/** The whole note, at the lines of the result. */
const Note = (
  props: Shown & { path: string; lines: readonly [number, number]; onClose: () => void },
) => {
  const { workspace, agent, path, lines, onClose } = props;
  const [from, to] = lines;
  const reading = useReading(
    `note ${agent} ${path}`,
    () => workspace.operate<{ text: string }>('memory.get', { agent, path }),
    NOTES_EVERY_MS,
  );
  const marked = useRef<HTMLElement>(null);
  const all = reading.value?.text.split(/\r?\n/) ?? [];
  useEffect(() => marked.current?.scrollIntoView({ block: 'center' }), [from, all.length > 0]);
  const part = (first: number, last?: number) => all.slice(first, last).join('\n');
  return (
    <Pane title={path} onClose={onClose}>
      <Failure reading={reading} />
      <pre class="text" tabIndex={0}>
        {from > 0 ? (
          <>
            {from > 1 && `${part(0, from - 1)}\n`}
            <mark ref={marked}>{part(from - 1, to)}</mark>
            {to < all.length && `\n${part(to)}`}
          </>
        ) : (
          part(0)
        )}
      </pre>
    </Pane>
  );
};
