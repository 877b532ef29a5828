/**
 * The first screen of a conversation: what to ask. Without a key of a provider the offline model
 * answers; then the cards are demonstrations that work with it. Loaded when it is shown.
 */
import { Icon, type IconName } from '../../icons.tsx';
import { language, strings } from '../../strings.ts';

const selected = language === 'vi' ? import('./vietnamese.ts') : import('./english.ts');
const { welcome, offline, cards, demonstrations } = (await selected).strings;

const OFFLINE_ICONS: readonly IconName[] = ['tool', 'file', 'approvals', 'retry'];
const ICONS: readonly IconName[] = ['file', 'globe', 'schedules', 'agents'];

export const Suggestions = (props: { isOffline: boolean; onSay: (text: string) => void }) => {
  const { isOffline, onSay } = props;
  const icons = isOffline ? OFFLINE_ICONS : ICONS;
  return (
    <>
      <h2>{welcome}</h2>
      <p>{isOffline ? offline : strings.empty}</p>
      <div class="cards">
        {(isOffline ? demonstrations : cards).map(({ title, about, text }, at) => (
          <button key={title} type="button" onClick={() => onSay(text)}>
            <Icon name={icons[at] ?? 'chat'} />
            <b>{title}</b>
            <span>{about}</span>
          </button>
        ))}
      </div>
    </>
  );
};
