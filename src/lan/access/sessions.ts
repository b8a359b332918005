import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '#lib/clock.ts';

export const idleMs = 30 * 60_000;
export const absoluteMs = 12 * 3_600_000;
export const sessionsOfOne = 8;
export const sessionsInAll = 64;
/** In seconds, as they are shown. */
export const sessionTimes = { idle_s: idleMs / 1000, longest_s: absoluteMs / 1000 } as const;

export interface Session {
  /** Names it in lists; it opens nothing. */
  readonly id: string;
  readonly person: string;
  /** Address it was opened from. */
  readonly from: string;
  /** Wall clock, only to be shown. */
  readonly openedAt: number;
  readonly usedAt: number;
}

/** Sessions of people, in memory: a restart ends them. Their time is the monotonic clock's, which nobody can set. */
export interface Sessions {
  /** 256 random bits, shown this once: of the token only its SHA-256 is kept. At a cap the oldest session gives way. */
  open(person: string, from: string): { readonly token: string; readonly session: Session };
  /** Counts as use. Undefined for what is none, has ended or was idle too long. */
  use(token: string): Session | undefined;
  /** Oldest first; of one person, or all. */
  list(person?: string): readonly Session[];
  /** False where there is none of this name, or it is not of this person. */
  end(id: string, person?: string): boolean;
  /** All of a person, but for the one named. */
  endAll(person: string, except?: string): number;
  readonly size: number;
}

interface Held {
  session: Session;
  readonly openedMono: number;
  usedMono: number;
}

export function createSessions({ clock, onGivenWay }: { clock: Clock; onGivenWay?: () => void }): Sessions {
  /** By the hash of the token, in the order they were opened. */
  const held = new Map<string, Held>();

  function sweep(): void {
    for (const [hash, one] of held) if (isOver(one)) held.delete(hash);
  }

  function isOver({ openedMono, usedMono }: Held): boolean {
    const now = clock.monotonic();
    return now - openedMono >= absoluteMs || now - usedMono >= idleMs;
  }

  function makeRoom(person: string): void {
    sweep();
    const own = [...held].filter(([, { session }]) => session.person === person);
    const oldest = own.length >= sessionsOfOne ? own[0] : held.size >= sessionsInAll ? [...held][0] : undefined;
    if (oldest === undefined) return;
    held.delete(oldest[0]);
    onGivenWay?.();
  }

  return {
    open(person, from) {
      makeRoom(person);
      const token = randomBytes(32).toString('base64url');
      const now = clock.wall();
      const session = { id: randomBytes(6).toString('hex'), person, from, openedAt: now, usedAt: now };
      held.set(hashOf(token), { session, openedMono: clock.monotonic(), usedMono: clock.monotonic() });
      return { token, session };
    },
    use(token) {
      const hash = hashOf(token);
      const found = held.get(hash);
      if (found === undefined) return undefined;
      if (isOver(found)) {
        held.delete(hash);
        return undefined;
      }
      found.usedMono = clock.monotonic();
      found.session = { ...found.session, usedAt: clock.wall() };
      return found.session;
    },
    list(person) {
      sweep();
      const all = [...held.values()].map(({ session }) => session);
      return person === undefined ? all : all.filter((session) => session.person === person);
    },
    end(id, person) {
      sweep();
      for (const [hash, { session }] of held)
        if (session.id === id && (person === undefined || session.person === person)) return held.delete(hash);
      return false;
    },
    endAll(person, except) {
      sweep();
      const before = held.size;
      for (const [hash, { session }] of held) if (session.person === person && session.id !== except) held.delete(hash);
      return before - held.size;
    },
    get size() {
      sweep();
      return held.size;
    },
  };
}

/** 256 random bits need no slow hash; and what is looked up is a hash, so that its timing tells nothing of the token. */
const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64url');
