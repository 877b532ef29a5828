/** Who may append to a mailbox, and when (J2, J4). */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  Admission,
  ADMISSION_LIMITS,
  type AdmissionLimits,
  type AdmissionRequest,
} from '../../../runtime/fairness/admission.ts';
import type { Ticket } from '../../../runtime/fairness/window.ts';
import { settled, VirtualClock } from '../../../library/simulation/virtual-clock.ts';
import { percentile, SimShard } from './sim-shard.ts';

const RATE = 1_000;

describe('a shard that applies 1,000 entries a second', () => {
  it('admits a quiet tenant within a window, while another sends 20,000 as fast as it can', async () => {
    const shard = new SimShard(RATE, { limits: { tenantEntries: 20_000 } });
    const waits: number[] = [];
    for (let n = 0; n < 20_000; n++) void shard.send('flood', `k${n % 50}`).catch(() => {});
    const calm = async () => {
      for (let n = 0; n < 100; n++) {
        waits.push(await shard.send('calm', 'k'));
        await shard.clock.sleep(50);
      }
    };
    let ended = false;
    void calm().then(() => (ended = true));
    await shard.clock.run(60_000, () => ended);
    expect(waits).toHaveLength(100);
    const windowMs = (ADMISSION_LIMITS.windowEntries / RATE) * 1_000;
    expect(percentile(waits, 0.99)).toBeLessThanOrEqual(windowMs);
    expect(shard.applied.filter((to) => to.startsWith('flood/')).length).toBeGreaterThan(2_000);
  });

  it('admits the neighbours of a hot actor within a window', async () => {
    const shard = new SimShard(RATE);
    for (let n = 0; n < 1_500; n++) void shard.send('a', 'hot').catch(() => {});
    await settled();
    const waits: number[] = [];
    for (let n = 0; n < 10; n++) void shard.send('a', `calm${n}`).then((ms) => waits.push(ms));
    await shard.clock.run(600);
    expect(waits).toHaveLength(10);
  });

  it('serves tenants by their weights', async () => {
    const tenantWeights = { gold: 3 };
    const shard = new SimShard(RATE, { tenantWeights, limits: { windowEntries: 10 } });
    for (let n = 0; n < 900; n++)
      for (const tenant of ['gold', 'plain']) void shard.send(tenant, 'k');
    await shard.clock.run(800);
    const gold = shard.applied.filter((to) => to.startsWith('gold/')).length;
    expect(gold / shard.applied.length).toBeCloseTo(0.75, 1);
  });

  it('keeps the order of one actor', async () => {
    const shard = new SimShard(RATE, { limits: { windowEntries: 5 } });
    const order: number[] = [];
    for (let n = 0; n < 300; n++) void shard.send('a', 'k').then(() => order.push(n));
    await shard.clock.run(2_000);
    expect(order).toEqual(Array.from({ length: 300 }, (_, n) => n));
  });
});

const TO = address('a', 'actor', 'k');

function openAdmission(limits: Partial<AdmissionLimits>, isOwned = () => true) {
  const clock = new VirtualClock();
  const admission = new Admission({ clock, isOwned, limits });
  const tickets: Ticket[] = [];
  const refused: TroupeError[] = [];
  const admit = (request: Partial<AdmissionRequest> = {}) =>
    admission.admit({ shard: 0, to: TO, lane: 'data', bytes: 100, ...request }).then(
      (ticket) => void tickets.push(ticket),
      (error: unknown) => void refused.push(error as TroupeError),
    );
  return { clock, admission, tickets, refused, admit };
}

describe('the window', () => {
  it('counts entries in flight, and admits waiting ones when a floor has passed them', async () => {
    const { admission, tickets, admit } = openAdmission({ windowEntries: 2 });
    for (let n = 0; n < 4; n++) void admit();
    await settled();
    expect([tickets.length, admission.load(0, 'data')]).toEqual([2, { waiting: 2, inFlight: 2 }]);
    tickets[0]!.appended(7);
    tickets[1]!.appended(9);
    admission.floors(0, { mailFloor: 8, lag: 1 });
    await settled();
    expect(tickets).toHaveLength(3);
    tickets[2]!.failed();
    await settled();
    expect([tickets.length, admission.load(0, 'data')]).toEqual([4, { waiting: 0, inFlight: 2 }]);
  });

  it('does not count an entry that is applied before the log has answered', async () => {
    const { admission, tickets, admit } = openAdmission({ windowEntries: 1 });
    void admit();
    await settled();
    admission.floors(0, { mailFloor: 5, lag: 0 });
    tickets[0]!.appended(5);
    expect(admission.load(0, 'data').inFlight).toBe(0);
  });

  it('is correct when the answers arrive in another order than the positions', async () => {
    const { admission, tickets, admit } = openAdmission({});
    for (let n = 0; n < 5; n++) void admit();
    await settled();
    for (const [n, position] of [30, 10, 50, 20, 40].entries()) tickets[n]!.appended(position);
    const left = [10, 25, 25, 40, 39, 50].map((mailFloor) => {
      admission.floors(0, { mailFloor, lag: 0 });
      return admission.load(0, 'data').inFlight;
    });
    expect(left).toEqual([4, 3, 3, 1, 1, 0]);
  });

  it('counts a ticket once, even if it is settled several times', async () => {
    const { admission, tickets, admit } = openAdmission({});
    void admit();
    void admit();
    await settled();
    tickets[0]!.failed();
    tickets[0]!.failed();
    tickets[0]!.appended(3);
    expect(admission.load(0, 'data').inFlight).toBe(1);
  });

  it('limits bytes too, and admits an entry above the limit alone', async () => {
    const { tickets, admit } = openAdmission({ windowBytes: 1_000 });
    void admit({ bytes: 5_000 });
    void admit({ bytes: 1 });
    await settled();
    expect(tickets).toHaveLength(1);
    tickets[0]!.failed();
    void admit({ bytes: 900 });
    await settled();
    expect(tickets).toHaveLength(3);
  });
});

describe('a waiting message', () => {
  it('is refused above the bound of its tenant, with queue length, limit and retry delay', async () => {
    const { refused, admit } = openAdmission({ windowEntries: 1, tenantEntries: 3 });
    for (let n = 0; n < 5; n++) void admit();
    void admit({ to: address('b', 'actor', 'k') });
    await settled();
    expect(refused).toMatchObject([
      {
        code: 'RATE_LIMIT_EXCEEDED',
        message: expect.stringMatching(/^3 messages of tenant 'a' wait for shard 0; 3 messages/),
        retryAfterMs: expect.any(Number),
      },
    ]);
  });

  it('is refused past the bytes of its tenant', async () => {
    const { refused, admit } = openAdmission({ windowEntries: 1, tenantBytes: 10_000 });
    for (let n = 0; n < 3; n++) void admit({ bytes: 5_000 });
    await settled();
    expect(refused).toMatchObject([{ code: 'RATE_LIMIT_EXCEEDED' }]);
  });

  it('gets a retry delay computed from the observed rate', async () => {
    const shard = new SimShard(200, { limits: { windowEntries: 10, tenantEntries: 400 } });
    for (let n = 0; n < 410; n++) void shard.send('a', 'k').catch(() => {});
    await shard.clock.run(1_000);
    for (let n = 0; n < 200; n++) void shard.send('a', 'k').catch(() => {});
    const error = await shard.send('a', 'k').catch((refused: unknown) => refused as TroupeError);
    expect(error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    const { retryAfterMs } = error as TroupeError;
    expect(retryAfterMs).toBeGreaterThan(1_600);
    expect(retryAfterMs).toBeLessThan(2_400);
  });

  it('is refused after its time limit, or its time to live, when the shard has no owner', async () => {
    const { clock, tickets, refused, admit } = openAdmission({ windowEntries: 2 }, () => false);
    void admit().then(() => tickets[0]!.appended(1));
    void admit().then(() => tickets[1]!.appended(2));
    void admit();
    void admit({ ttlMs: 300 });
    await clock.run(299);
    expect(refused).toHaveLength(0);
    await clock.run(300);
    expect(refused).toMatchObject([{ code: 'RATE_LIMIT_EXCEEDED' }]);
    await clock.run(9_999);
    expect(refused).toHaveLength(1);
    await clock.run(10_000);
    expect(refused).toHaveLength(2);
    expect(refused[1]).toMatchObject({
      retryAfterMs: 30_000,
      message: expect.stringContaining('10000 ms for shard 0'),
    });
    expect(tickets).toHaveLength(2);
  });

  it('is admitted when the owner works but its notices are lost', async () => {
    const shard = new SimShard(RATE, { limits: { windowEntries: 20 } });
    shard.silent = true;
    const waits: number[] = [];
    for (let n = 0; n < 30; n++) void shard.send('a', 'k').then((ms) => waits.push(ms));
    await shard.clock.run(20_000);
    expect(waits.slice(20)).toEqual(Array.from({ length: 10 }, () => 5_000));
  });

  it('waits while the owner reports no progress', async () => {
    const { clock, admission, tickets, refused, admit } = openAdmission({ windowEntries: 1 });
    void admit().then(() => tickets[0]!.appended(1));
    void admit();
    const tell = () => {
      admission.floors(0, { mailFloor: 0, lag: 1 });
      if (clock.monotonicMs() < 15_000) clock.after(1_000, tell);
    };
    tell();
    await clock.run(20_000);
    expect([tickets.length, refused.length]).toEqual([1, 1]);
  });

  it('may be cancelled, and later ones continue', async () => {
    const { tickets, refused, admit } = openAdmission({ windowBytes: 1_000 });
    const abort = new AbortController();
    void admit({ bytes: 600 });
    void admit({ bytes: 900, signal: abort.signal });
    void admit({ bytes: 300 });
    await settled();
    expect(tickets).toHaveLength(1);
    abort.abort();
    await settled();
    expect([tickets.length, refused]).toMatchObject([2, [{ code: 'CANCELLED' }]]);
  });

  it('is refused when the entry point closes, as are later messages', async () => {
    const { clock, admission, refused, admit } = openAdmission({ windowEntries: 1 });
    void admit();
    void admit();
    admission.close();
    void admit();
    await settled();
    expect(refused).toMatchObject([{ code: 'UNAVAILABLE' }, { code: 'UNAVAILABLE' }]);
    await clock.run(60_000);
    expect(clock.steps).toBe(0);
  });
});

it('the control lane never waits behind data, and has separate bounds', async () => {
  const { admission, tickets, refused, admit } = openAdmission({
    windowEntries: 1,
    tenantEntries: 1,
    controlEntries: 2,
  });
  for (let n = 0; n < 3; n++) void admit();
  admission.floors(0, { mailFloor: 0, lag: 60_000 });
  for (let n = 0; n < 4; n++) void admit({ lane: 'control' });
  await settled();
  expect([tickets.length, refused.length]).toEqual([3, 2]);
  tickets[1]!.appended(4);
  admission.floors(0, { mailFloor: 0, ctlFloor: 4, lag: 60_000 });
  await settled();
  expect(tickets).toHaveLength(4);
});

it('a mailbox that other processes have filled refuses data at once, until it is shorter or its length is unknown', async () => {
  const { clock, admission, tickets, refused, admit } = openAdmission({});
  const full = { mailFloor: 1, lag: ADMISSION_LIMITS.lagMax + 1 };
  admission.floors(0, full);
  void admit();
  await settled();
  expect(refused).toMatchObject([
    { code: 'RATE_LIMIT_EXCEEDED', message: expect.stringContaining('50001 messages wait') },
  ]);
  admission.floors(0, { mailFloor: 2, lag: 50_000 });
  void admit();
  await settled();
  expect(tickets).toHaveLength(1);
  admission.floors(0, full);
  await clock.run(5_001);
  void admit();
  await settled();
  expect([tickets.length, refused.length]).toEqual([2, 1]);
});

it('no timer runs while the queue is empty', async () => {
  const { clock, admission, tickets, admit } = openAdmission({});
  for (let n = 0; n < 500; n++) void admit();
  await settled();
  tickets.forEach((ticket, n) => ticket.appended(n + 1));
  admission.floors(0, { mailFloor: 500, lag: 0 });
  await clock.run(60_000);
  expect([tickets.length, clock.steps]).toEqual([500, 0]);
});
