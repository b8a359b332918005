import type { Command } from '#site/model/index.ts';
import type { RateState } from './types.ts';
import { own, type Work, without } from './work.ts';

/** Commands of one client to one partition within a minute; the next one locks the client (C8). */
const commandCap = 5;
const windowMs = 60_000;
export const lockMs = 90_000;
const clientCap = 64;
const recentCap = 64;

const ratesOf = (work: Work): Readonly<Record<string, RateState>> => work.state.rates ?? {};

/** Milliseconds a lock of the client for too many commands still lasts; 0 when there is none. Changes nothing. */
export function rateLockLeft(work: Work, client: string): number {
  const lockedAt = own(ratesOf(work), client)?.lockedAt;
  return lockedAt === undefined ? 0 : Math.max(0, lockedAt + lockMs - work.at.mono);
}

/** Counts a command; true when it is one too many, and its client is locked from now on. Panels are no clients. */
export function countCommand(work: Work, { client, partition }: Command): boolean {
  const { mono } = work.at;
  const isKnown = partition === 'all' || work.plan.partitions.some(({ id }) => id === partition);
  const target = isKnown ? partition : '?';
  const recent = (own(ratesOf(work), client)?.recent ?? []).filter(({ at }) => mono - at < windowMs);
  const same = recent.filter((one) => one.target === target || one.target === 'all' || target === 'all');
  const locks = same.length >= commandCap && mostTo(same) >= commandCap;
  const rate = locks ? { recent: [], lockedAt: mono } : { recent: [...recent, { target, at: mono }].slice(-recentCap) };
  keep(work, client, rate);
  return locks;
}

/** Of the commands that count for a target, those to the partition that had the most; `all` is one to each. */
function mostTo(commands: RateState['recent']): number {
  const counts = new Map<string, number>();
  for (const { target } of commands) counts.set(target, (counts.get(target) ?? 0) + 1);
  const all = counts.get('all') ?? 0;
  counts.delete('all');
  return all + Math.max(0, ...counts.values());
}

/** The oldest client that is not locked gives way; when all are, the oldest. */
function keep(work: Work, client: string, rate: RateState): void {
  let rates = without(ratesOf(work), client);
  const names = Object.keys(rates);
  if (names.length >= clientCap) {
    const oldest = names.find((name) => rateLockLeft(work, name) === 0) ?? names[0];
    if (oldest !== undefined) rates = without(rates, oldest);
  }
  work.state = { ...work.state, rates: { ...rates, [client]: rate } };
}

/** A start of the machine begins running locks anew, on its own monotonic clock. */
export function renewRates(work: Work): void {
  if (work.state.rates === undefined) return;
  const locked = Object.entries(ratesOf(work)).filter(([, { lockedAt }]) => lockedAt !== undefined);
  const rates = Object.fromEntries(locked.map(([client]) => [client, { recent: [], lockedAt: work.at.mono }]));
  work.state = { ...work.state, rates };
}
