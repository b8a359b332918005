import type { Answer, MakePolicy, Status } from './bridge.ts';
import { type Count, referee } from './count.ts';
import { type Day, dayMs, second } from './day.ts';
import { random } from './random.ts';

export interface Cloud {
  /** Whether its answers say when the value was written. */
  readonly timestamps: boolean;
  /** Its clock is off by up to so much, either way. */
  readonly skewMs: number;
  /** Share of lost requests that arrive after all, up to a minute after the bridge has given up. */
  readonly late: number;
  /** Half of the reads are answered by a copy that is behind by up to so much. */
  readonly lagMs: number;
}

const lostRequests = 0.03;
const lostReplies = 0.03;
const timeoutMs = 8 * second;
const lateMs = 60 * second;

type Due = { readonly at: number } & (
  | { readonly what: 'arrives'; readonly request: number; readonly put?: Status; readonly replies: boolean }
  | { readonly what: 'answered'; readonly request: number; readonly answer: Answer }
  | { readonly what: 'lost'; readonly request: number }
);

/** One day under one policy. Everything random comes from the day's seed. */
export function simulate(day: Day, cloud: Cloud, make: MakePolicy): Count {
  const dice = random(day.seed + 500_000);
  const skewMs = dice.between(-cloud.skewMs, cloud.skewMs);
  const isUp = (at: number) => day.cuts.every(({ from, until }) => at < from || at >= until);
  const pending: Due[] = [];
  let now = 0;
  let status: Status = 'disarmed';
  let keypadAt = 0;
  const writes: { at: number; value: Status; writtenAt: number }[] = [{ at: -1, value: 'disarmed', writtenAt: -1 }];
  const judge = referee(day, cloud);

  const write = (value: Status) => {
    writes.push({ at: now, value, writtenAt: now + skewMs });
  };
  const heldAt = (at: number) => writes.findLast((one) => one.at <= at) ?? writes[0]!;
  const copy = () => heldAt(cloud.lagMs > 0 && dice.chance(0.5) ? now - dice.between(0, cloud.lagMs) : now);
  const ask = (request: number, put?: Status) => {
    const arrives = now + dice.between(20, 400);
    const about = { request, ...(put === undefined ? {} : { put }) };
    if (isUp(now) && isUp(arrives) && !dice.chance(lostRequests)) {
      pending.push({ ...about, at: arrives, what: 'arrives', replies: true });
      return;
    }
    pending.push({ at: now + timeoutMs, what: 'lost', request });
    if (isUp(now) && put !== undefined && dice.chance(cloud.late)) {
      pending.push({ ...about, at: now + dice.between(timeoutMs, lateMs), what: 'arrives', replies: false });
    }
  };
  const arrive = ({ request, put, replies }: Extract<Due, { what: 'arrives' }>) => {
    if (put !== undefined) write(put);
    if (!replies) return;
    const held = put === undefined ? copy() : heldAt(now);
    const stamps = cloud.timestamps ? { writtenAt: held.writtenAt, answeredAt: now + skewMs } : {};
    const back = now + dice.between(20, 400);
    if (isUp(back) && !dice.chance(lostReplies)) {
      pending.push({ at: back, what: 'answered', request, answer: { value: held.value, ...stamps } });
    } else {
      pending.push({ at: now + timeoutMs, what: 'lost', request });
    }
  };

  const policy = make({
    now: () => now,
    random: () => dice.next(),
    status: () => status,
    keypadAt: () => keypadAt,
    get: (request) => ask(request),
    put: (request, value) => ask(request, value),
    apply(value) {
      judge.applied(now, value);
      status = value;
    },
    show: (value) => judge.shown(now, value),
  });

  let next = 0;
  for (;;) {
    const act = day.acts[next];
    let soonest = 0;
    for (let i = 1; i < pending.length; i += 1) if (pending[i]!.at < pending[soonest]!.at) soonest = i;
    const due = pending[soonest];
    const at = Math.min(act?.at ?? dayMs, due?.at ?? dayMs, Math.max(now, policy.wakeAt));
    if (at >= dayMs) break;
    now = at;
    if (act !== undefined && act.at === at) {
      next += 1;
      if (act.who === 'operator') {
        const held = heldAt(now).value;
        const value = (act.press === 'same') === (held === 'armed') ? 'armed' : 'disarmed';
        judge.pressed(now, value, { changes: value !== held, local: status });
        write(value);
      } else if (act.status !== status) {
        status = act.status;
        keypadAt = now;
        judge.keypad(now);
        policy.keypad();
      }
    } else if (due !== undefined && due.at === at) {
      pending.splice(soonest, 1);
      if (due.what === 'arrives') arrive(due);
      else if (due.what === 'lost') policy.lost(due.request);
      else {
        judge.read(due.answer.value);
        policy.answered(due.request, due.answer);
      }
    } else {
      policy.wake();
    }
  }
  return judge.result(status, heldAt(now).value);
}
