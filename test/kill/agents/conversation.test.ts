/**
 * kill -9 of the process in each turn of a conversation between two agents. The conversation
 * continues from that turn, requests no turn twice and is announced once.
 */
import { expect, it } from 'vitest';
import type { ConversationRow } from '../../../protocols/conversation.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { BundledProgram, linesOf } from '../bundled-program.ts';

const TURNS = ['0', '1', '2', 'announce'];

const program = new BundledProgram('agents/conversation');

it.each([[['0']], [['1']], [['2']], [['announce']], [TURNS]])(
  'a conversation whose process is killed in the turns %j ends and requests no turn twice',
  { timeout: 120_000 },
  async (turns) => {
    const data = scratchFolder();
    for (const turn of turns)
      await program.killWhen([data], () => expect(linesOf(data, 'turns')).toContain(turn));
    const { row, entries } = JSON.parse(await program.output([data])) as {
      row: ConversationRow;
      entries: SessionEntry[];
    };
    expect(row).toMatchObject({ status: 'ended', end: 'turns', delivered: true });
    expect(row.turns.map(({ turn, status }) => [String(turn), status])).toEqual(
      TURNS.map((turn) => [turn, 'ok']),
    );
    const of = (type: SessionEntry['type']) =>
      entries
        .filter((entry) => entry.type === type && entry.runId.startsWith('talk-c1-'))
        .map(({ runId }) => runId.slice('talk-c1-'.length))
        .toSorted();
    expect(of('user')).toEqual(TURNS);
    expect(of('run.end')).toEqual(TURNS);
    expect(of('assistant')).toEqual(TURNS);
  },
);
