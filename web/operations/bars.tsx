/** A bar chart of our own: one row per value, with the number beside the bar, and as a list. */
export type Bar = {
  readonly name: string;
  readonly value: number;
  readonly text: string;
  readonly link?: string;
};

export const Bars = ({ title, bars }: { title: string; bars: readonly Bar[] }) => {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <figure class="bars">
      <figcaption>{title}</figcaption>
      <ol>
        {bars.map(({ name, value, text, link }) => (
          <li key={name}>
            <span class="name" title={name}>
              {link === undefined ? name : <a href={link}>{name}</a>}
            </span>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect class="track" width="100" height="10" rx="2" />
              <rect class="bar" width={(value / most) * 100} height="10" rx="2" />
            </svg>
            <span class="value">{text}</span>
          </li>
        ))}
      </ol>
    </figure>
  );
};

/** Columns over time, the oldest first. */
export const Columns = ({ title, bars }: { title: string; bars: readonly Bar[] }) => {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const width = 100 / Math.max(1, bars.length);
  return (
    <figure class="columns">
      <figcaption>{title}</figcaption>
      <svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label={title}>
        {bars.map(({ name, value, text }, at) => {
          const height = value === 0 ? 0.4 : Math.max(1, (value / most) * 38);
          return (
            <rect
              key={name}
              class={value === 0 ? 'track' : 'bar'}
              x={at * width + width * 0.12}
              y={40 - height}
              width={width * 0.76}
              height={height}
            >
              <title>{`${name}: ${text}`}</title>
            </rect>
          );
        })}
      </svg>
      <div class="ends" aria-hidden="true">
        <span>{bars[0]?.name}</span>
        <span>{bars.at(-1)?.name}</span>
      </div>
    </figure>
  );
};
