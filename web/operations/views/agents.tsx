/** Agents: the model, tools, skills and files of each, and the hooks that their runs call. */
import type { SkillStatus, ToolGroup } from '../../../protocols/gateway/index.ts';
import { linkTo } from '../../chat/agents-talk.ts';
import { newId } from '../../chat/outbox.ts';
import { newSessionKey } from '../../sessions.ts';
import { Failure, type DetailProps, type ListDefinition } from '../list-view.tsx';
import { Facts, Part, Pill } from '../pane.tsx';
import { useReading } from '../reading.ts';
import { strings } from '../strings.ts';

type Agent = {
  readonly id: string;
  readonly name?: string;
  readonly workspace?: string;
  readonly model: { readonly primary: string; readonly fallbacks?: readonly string[] };
};
type File = { readonly name: string; readonly missing: boolean; readonly size?: number };

const own = strings.agents;

export const agents: ListDefinition<Agent> = {
  icon: 'agents',
  title: own.title,
  read: async ({ workspace }) =>
    (await workspace.request<{ agents: readonly Agent[] }>('agents.list')).agents,
  idOf: ({ id }) => id,
  titleOf: ({ id, name = id }) => name,
  columns: [
    { name: strings.name, text: ({ id, name = id }) => name },
    { name: own.model, text: ({ model }) => model.primary },
    { name: own.fallbacks, text: ({ model }) => model.fallbacks?.join(', ') ?? '' },
  ],
  empty: own.empty,
  details: (row, more) => <Details row={row} more={more} />,
};

const Details = ({ row, more }: { row: Agent; more: DetailProps }) => {
  const { workspace } = more;
  const { id: agentId } = row;
  const reading = useReading(`agent ${agentId}`, async () => {
    const [tools, skills, files] = await Promise.all([
      workspace.request<{ groups: readonly ToolGroup[] }>('tools.catalog', { agentId }),
      workspace.request<{ skills: readonly SkillStatus[] }>('skills.status', { agentId }),
      workspace.request<{ files: readonly File[] }>('agents.files.list', { agentId }),
    ]);
    return { groups: tools.groups, skills: skills.skills, files: files.files };
  });
  const { groups = [], skills = [], files = [] } = reading.value ?? {};
  return (
    <>
      <div class="buttons">
        <a class="button" href={linkTo(newSessionKey(agentId, newId(4)))}>
          {own.talk}
        </a>
      </div>
      <Facts
        facts={[
          [own.model, row.model.primary],
          [own.fallbacks, row.model.fallbacks?.join(', ')],
          [own.workspace, row.workspace],
        ]}
      />
      <Failure reading={reading} />
      <Part title={own.files}>
        <ul class="plain-list">
          {files.map(({ name, missing }) => (
            <li key={name}>
              <code>{name}</code> {missing && <span class="muted">{own.missing}</span>}
            </li>
          ))}
        </ul>
      </Part>
      <Part title={own.tools}>
        {groups.map(({ id, tools }) => (
          <ul key={id} class="plain-list">
            {tools.map(({ id: tool, description }) => (
              <li key={tool}>
                <code>{tool}</code> <span class="muted">{description}</span>
              </li>
            ))}
          </ul>
        ))}
      </Part>
      <Skills skills={skills} />
      <Hooks workspace={workspace} />
    </>
  );
};

const Skills = ({ skills }: { skills: readonly SkillStatus[] }) =>
  skills.length === 0 ? null : (
    <Part title={own.skills}>
      <ul class="plain-list">
        {skills.map(({ name, description, eligible }) => (
          <li key={name}>
            <code>{name}</code> {!eligible && <Pill tone="idle" text={own.notUsed} />}{' '}
            <span class="muted">{description}</span>
          </li>
        ))}
      </ul>
    </Part>
  );

/** Of all agents of the tenant. */
const Hooks = ({ workspace }: Pick<DetailProps, 'workspace'>) => {
  const reading = useReading('hooks', () =>
    workspace.operate<{ hooks: readonly string[] }>('hooks.list'),
  );
  return (
    <Part title={own.hooks}>
      <Failure reading={reading} />
      {reading.value?.hooks.length === 0 && <p class="muted">{own.noHooks}</p>}
      <ul class="plain-list">
        {reading.value?.hooks.map((name) => (
          <li key={name}>
            <code>{name}</code>
          </li>
        ))}
      </ul>
    </Part>
  );
};
