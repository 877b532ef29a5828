/** The navigation between the views: a rail beside the page, or part of the menu on a phone. */
import { Icon, type IconName } from '../icons.tsx';
import { linkToView, VIEW_GROUPS, type ViewName } from '../routes.ts';
import { strings } from '../strings.ts';

export type RailProps = {
  readonly open: ViewName;
  readonly shown: boolean;
  readonly views: ReadonlySet<ViewName>;
  /** what waits for the user, by view */
  readonly counts: Readonly<Partial<Record<ViewName, number>>>;
  /** of the open conversation */
  readonly chatLink: string;
  onGo(this: void, link: string): void;
};

export const Rail = (props: RailProps) => {
  const { open, shown, views, counts, chatLink, onGo } = props;
  const groups = VIEW_GROUPS.map((group) => group.filter((view) => views.has(view)));
  return (
    <nav class={`rail ${shown ? 'shown' : ''}`} aria-label={strings.views}>
      {groups
        .filter((group) => group.length > 0)
        .map((group) => (
          <ul key={group[0]}>
            {group.map((view) => (
              <RailLink
                key={view}
                name={view}
                isOpen={view === open}
                count={counts[view] ?? 0}
                link={view === 'chat' ? chatLink : linkToView(view)}
                onGo={onGo}
              />
            ))}
          </ul>
        ))}
    </nav>
  );
};

const RailLink = (props: {
  name: ViewName;
  isOpen: boolean;
  count: number;
  link: string;
  onGo: (link: string) => void;
}) => {
  const { name, isOpen, count, link, onGo } = props;
  const label = strings.viewNames[name];
  const onClick = (event: MouseEvent) => {
    // A link, so that it can be opened in a new tab.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onGo(link);
  };
  return (
    <li>
      <a
        href={link === '' ? '#' : link}
        title={label}
        aria-current={isOpen ? 'page' : undefined}
        onClick={onClick}
      >
        <Icon name={name satisfies IconName} />
        <span class="label">{label}</span>
        {count > 0 && (
          <span class="badge">
            <span class="hidden">: </span>
            {count}
            <span class="hidden"> {strings.waiting(count)}</span>
          </span>
        )}
      </a>
    </li>
  );
};
