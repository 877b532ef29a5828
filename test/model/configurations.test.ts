/**
 * The commit protocol, searched completely in small systems. The lower bounds of the counts were
 * measured when the test was written. A model that visits fewer states has lost behaviour.
 */
import { describe, expect, test } from 'vitest';
import { type Configuration, long, quick } from './configurations.ts';
import { type Exploration, explore } from './explore.ts';
import { commitProtocol } from './protocol.ts';

type Floor = readonly [states: number, quiescent: number];

const quickFloors: Record<keyof typeof quick, Floor> = {
  'unknown append and take-over': [10_829, 174],
  'two unknown appends and take-over': [1_744, 15],
  'unknown append, crash and take-over': [8_141, 114],
  'two take-overs at once': [1_783, 37],
  'link fault and sender take-over': [12_169, 630],
  'two link faults': [2_004, 307],
  'relay while an append is unknown': [2_228, 32],
  'receiver take-over, crash and link fault': [2_323, 125],
  'take-over of both shards': [3_231, 85],
  'client copies and take-over': [11_861, 865],
  'two clients': [21_641, 348],
  'snapshot, trim and take-over': [48_414, 572],
  'two snapshots and take-over': [14_712, 174],
  'receiver snapshot, trim and take-over': [914, 20],
  'cold start with snapshot': [16_734, 270],
  'once effect, unknown append, take-over, again': [24_329, 126],
  'embedded: once effect, crash, take-over, doubled outcome': [24_082, 664],
  'embedded: outcome in a record, unknown append, crash, take-over': [72_399, 402],
  'timer, unknown append and take-over': [1_803, 28],
  'embedded: replaced idle owner whose successor dies': [66_654, 1_775],
  'embedded: unknown append, crash and take-over': [25_452, 228],
  'leaking fence with the answer verified': [1_358, 66],
};

const longFloors: Record<keyof typeof long, Floor> = {
  'two unknown appends, two messages, take-over': [63_222, 261],
  'unknown append, crash, two messages, take-over': [296_586, 3_500],
  'unknown append and two take-overs': [113_257, 1_512],
  'two link faults, crash and take-over': [3_091_655, 64_468],
  'relay while an append is unknown, two messages': [176_484, 1_260],
  'three messages of two clients': [692_768, 6_834],
  'three messages, two link faults': [310_927, 42_060],
  'receiver: unknown append, link fault, crash and take-over': [1_649_877, 9_332],
  'take-over of both shards, two messages': [258_067, 5_173],
  'two client faults, crash and take-over': [2_539_517, 94_759],
  'snapshot, trim, crash and take-over, two messages': [3_937_234, 23_214],
  'two snapshots, unknown append and take-over': [165_655, 348],
  'receiver snapshot, crash, link fault and take-over': [190_812, 1_403],
  'once effect: unknown append, crash, take-over, again': [1_168_014, 4_516],
  'once effect: crash, take-over, doubled outcome': [145_663, 4_590],
  'once effect: two take-overs, crash, again': [602_278, 11_806],
  'replaced idle owner whose successor dies': [765_987, 19_013],
  'timer: unknown append, crash and take-over': [37_105, 354],
  'embedded: two unknown appends, crash and take-over': [183_122, 387],
  'embedded: both shards taken over, snapshot and trim': [217_060, 184],
  'leaking fence with the answer verified, two messages': [48_658, 3_072],
};

/** Rules that all quick configurations together must exercise. */
const rules = 'A1 A2 A3 A4 A7 C3 D2 D3 E1 E4 F1 F3 G3 G4 G5 G6 H2 P1 T1 T2 T3 fault'.split(' ');

const minute = 60_000;

/** One search per configuration, which all tests of the file share. */
const searched = new Map<Configuration, Exploration>();

function search(configuration: Configuration): Exploration {
  const found = searched.get(configuration) ?? explore(commitProtocol(configuration));
  searched.set(configuration, found);
  return found;
}

function searchEach<Name extends string>(
  configurations: Readonly<Record<Name, Configuration>>,
  floors: Readonly<Record<Name, Floor>>,
  timeout: number,
): void {
  const names = Object.keys(configurations) as Name[];
  test.each(names)('%s: V1 to V8 hold in every reachable state', { timeout }, (name) => {
    const { violation, complete, states, quiescent } = search(configurations[name]);
    expect(violation).toBeUndefined();
    expect(complete).toBe(true);
    expect(states).toBeGreaterThanOrEqual(floors[name][0]);
    expect(quiescent).toBeGreaterThanOrEqual(floors[name][1]);
  });
}

describe('small systems', () => {
  searchEach(quick, quickFloors, 2 * minute);

  test('together they exercise every rule of the model', { timeout: 5 * minute }, () => {
    const exercised = Object.values(quick).flatMap((one) => [...search(one).byRule.keys()]);
    expect([...new Set(exercised)].sort()).toEqual([...rules].sort());
  });
});

describe.runIf(process.env['TROUPE_MODEL'] === 'full')('larger systems', () => {
  searchEach(long, longFloors, 30 * minute);
});
