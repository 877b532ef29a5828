/**
 * Below the message field: the model of this conversation, its tools, and its export. Loaded after
 * the conversation.
 */
import { useEffect, useState } from 'preact/hooks';
import { Icon } from '../icons.tsx';
import { strings } from '../strings.ts';
import type { Workspace } from '../workspace.ts';
import type { Conversation } from './conversation.ts';
import { saveBlob } from './save-file.ts';

type Model = { readonly id: string; readonly provider: string; readonly available: boolean };
type Tool = { readonly id: string; readonly description: string };
type Known = {
  readonly model: string;
  readonly models: readonly string[];
  readonly tools: readonly Tool[];
  readonly sandboxed: boolean;
};

const nameOf = ({ id, provider }: Model): string =>
  id.startsWith(`${provider}/`) ? id : `${provider}/${id}`;

export const SessionBar = (props: {
  sessionKey: string;
  agentModel: string;
  workspace: Workspace;
  conversation: Conversation;
  online: boolean;
}) => {
  const { sessionKey, agentModel, workspace, conversation, online } = props;
  const [known, setKnown] = useState<Known>();
  const read = () => {
    readBar(workspace, sessionKey, agentModel).then(setKnown, () => {});
  };
  useEffect(() => {
    if (online) read();
  }, [sessionKey, online, conversation.history.length === 0]);
  if (known === undefined) return null;
  const { model, models, tools, sandboxed } = known;
  const choose = async (name: string) => {
    await workspace.request('sessions.patch', { key: sessionKey, model: name }).catch(() => {});
    read();
  };
  return (
    <div class="session-bar">
      <select
        aria-label={strings.model}
        title={strings.modelOf(model)}
        value={model}
        // A conversation exists from its first message on.
        disabled={!online || conversation.history.length === 0}
        onChange={({ currentTarget }) => void choose(currentTarget.value)}
      >
        {[...new Set([model, ...models])].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <Tools tools={tools} sandboxed={sandboxed} />
      {conversation.history.length > 0 && (
        <button
          type="button"
          class="quiet"
          aria-label={strings.exportChat}
          title={strings.exportChat}
          onClick={() => download(`${sessionKey.replaceAll(/[^\w-]+/g, '-')}.md`, conversation)}
        >
          <Icon name="download" />
        </button>
      )}
    </div>
  );
};

const Tools = ({ tools, sandboxed }: Pick<Known, 'tools' | 'sandboxed'>) => (
  <details>
    <summary>
      <Icon name="tool" /> {sandboxed && `${strings.sandbox}, `}
      {strings.tools(tools.length)}
    </summary>
    <ul tabIndex={0} aria-label={strings.tools(tools.length)}>
      {tools.map(({ id, description }) => (
        <li key={id}>
          <code>{id}</code> {description}
        </li>
      ))}
    </ul>
  </details>
);

const readBar = async (
  workspace: Workspace,
  sessionKey: string,
  agentModel: string,
): Promise<Known> => {
  const [models, tools, described] = await Promise.all([
    workspace.request<{ models: readonly Model[] }>('models.list'),
    workspace.request<{
      profile: string;
      groups: readonly { tools: readonly Tool[] }[];
    }>('tools.effective', { sessionKey }),
    workspace.request<{ session: { model?: string; modelProvider?: string } | null }>(
      'sessions.describe',
      { key: sessionKey },
    ),
  ]);
  const { model, modelProvider = '' } = described.session ?? {};
  return {
    model:
      model === undefined
        ? agentModel
        : nameOf({ id: model, provider: modelProvider, available: true }),
    models: models.models.filter(({ available }) => available).map(nameOf),
    tools: tools.groups.flatMap((group) => group.tools),
    sandboxed: tools.profile === 'sandbox',
  };
};

/** The messages as Markdown, without the output of tools. */
const markdownOf = ({ history }: Conversation): string =>
  history
    .filter(({ role, text }) => (role === 'user' || role === 'assistant') && text !== '')
    .map(({ role, text }) => `**${role === 'user' ? strings.you : strings.agent}**\n\n${text}\n`)
    .join('\n');

const download = (name: string, conversation: Conversation): void =>
  saveBlob(new Blob([markdownOf(conversation)], { type: 'text/markdown;charset=utf-8' }), name);
