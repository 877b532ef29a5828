/** Usage: tokens and money of today by agent, and of all time by conversation. */
import type { SessionsUsageResult } from '../../../protocols/gateway/index.ts';
import type { UsageDay, UsageReport } from '../../../protocols/usage.ts';
import { linkTo, shortKey } from '../../chat/agents-talk.ts';
import { Bars, type Bar, Columns } from '../bars.tsx';
import { Failure } from '../list-view.tsx';
import { useReading } from '../reading.ts';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';
import type { ViewProps } from '../view-props.ts';

const own = strings.usage;
const SESSIONS_SHOWN = 12;
const DAYS = 30;

type SessionRow = SessionsUsageResult['sessions'][number];

const tokensOf = ({ usage }: SessionRow): number =>
  (usage as { totalTokens?: number } | null)?.totalTokens ?? 0;

export const Usage = ({ workspace }: ViewProps) => {
  const reading = useReading('usage', async () => {
    const [report, sessions] = await Promise.all([
      workspace.operate<UsageReport>('usage', { days: DAYS }),
      workspace.request<SessionsUsageResult>('sessions.usage', { days: DAYS }),
    ]);
    return { report, sessions };
  });
  const { report, sessions } = reading.value ?? {};
  return (
    <main class="view sheet" aria-label={own.title}>
      <Failure reading={reading} />
      {reading.value === undefined && reading.error === undefined && (
        <p class="loading">{strings.loading}</p>
      )}
      {report && <Today report={report} />}
      {report?.days && <Columns title={own.byDay} bars={report.days.map(dayBar)} />}
      {sessions && <Sessions sessions={sessions} />}
    </main>
  );
};

const Today = ({ report }: { report: UsageReport }) => {
  const { agents, budget } = report;
  const sum = (of: (agent: (typeof agents)[number]) => number) =>
    agents.reduce((total, agent) => total + of(agent), 0);
  const ceilings = budget?.ceilings;
  return (
    <>
      <div class="tiles">
        <Tile
          name={own.tokens}
          value={strings.number(sum(({ tokensToday }) => tokensToday))}
          of={ceilings?.tokensPerDay}
          show={strings.number}
        />
        <Tile
          name={own.cost}
          value={strings.usd(sum(({ costTodayUsd }) => costTodayUsd))}
          of={ceilings?.costPerDayUsd}
          show={strings.usd}
        />
        <Tile name={own.running} value={strings.number(sum(({ running }) => running))} />
        <Tile name={own.waitingRuns} value={strings.number(sum(({ waiting }) => waiting))} />
        {budget?.status === 'spent' && (
          <div class="tile">
            <span>{own.budget}</span>
            <StatePill state="spent" />
          </div>
        )}
      </div>
      <Bars
        title={own.byAgent}
        bars={agents.map(({ agentId, tokensToday, costTodayUsd }) => ({
          name: agentId,
          value: tokensToday,
          text: `${strings.number(tokensToday)} · ${strings.usd(costTodayUsd)}`,
        }))}
      />
    </>
  );
};

const Tile = (props: {
  name: string;
  value: string;
  of?: number | undefined;
  show?: (value: number) => string;
}) => (
  <div class="tile">
    <span>{props.name}</span>
    <strong>{props.value}</strong>
    {props.of !== undefined && (
      <small>{own.limit(props.value, props.show?.(props.of) ?? '')}</small>
    )}
  </div>
);

const Sessions = ({ sessions }: { sessions: SessionsUsageResult }) => {
  const rows = sessions.sessions.toSorted((a, b) => tokensOf(b) - tokensOf(a));
  if (rows.length === 0) return <p class="muted">{own.none}</p>;
  return (
    <Bars
      title={own.bySession}
      bars={rows.slice(0, SESSIONS_SHOWN).map((row) => ({
        name: row.label ?? shortKey(row.key),
        value: tokensOf(row),
        text: strings.number(tokensOf(row)),
        link: linkTo(row.key),
      }))}
    />
  );
};

const dayBar = ({ day, tokens, costUsd }: UsageDay): Bar => ({
  name: day,
  value: tokens,
  text: `${strings.number(tokens)} · ${strings.usd(costUsd)}`,
});
