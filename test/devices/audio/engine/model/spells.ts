import type { engineLimits } from '../../../../../src/devices/audio/engine/index.ts';

interface Spell {
  since: number;
  /** How many of its sounds are on the air. */
  sounds: number;
  quietSince: number;
  readonly lifeSafety: boolean;
  /** The journal need not know all of it. */
  isLost: boolean;
}

/** How long alarms sound without a rest, as a listener would measure it. */
export class Spells {
  readonly #spells = new Map<string, Spell>();

  begins(key: string, lifeSafety: boolean, now: number, restMs: number): void {
    const spell = this.#spells.get(key);
    if (spell === undefined || (spell.sounds === 0 && now - spell.quietSince >= restMs))
      this.#spells.set(key, { since: now, sounds: 1, quietSince: now, lifeSafety, isLost: false });
    else spell.sounds += 1;
  }

  ends(key: string, now: number): void {
    const spell = this.#spells.get(key);
    if (spell === undefined) return;
    spell.sounds -= 1;
    spell.quietSince = now;
  }

  lose(key: string): void {
    const spell = this.#spells.get(key);
    if (spell !== undefined) spell.isLost = true;
  }

  /** After a crash those whose rows are not all on disk may begin anew. */
  crash(all: boolean): void {
    for (const [key, spell] of this.#spells) if (all || spell.isLost) this.#spells.delete(key);
  }

  /** Keys of those that sound longer than they may. */
  tooLong(now: number, limits: Pick<typeof engineLimits, 'longestAlarmMs' | 'longestLifeSafetyMs'>): string[] {
    const stopMs = 1_000;
    return [...this.#spells].flatMap(([key, { sounds, since, lifeSafety }]) =>
      sounds > 0 && now - since > (lifeSafety ? limits.longestLifeSafetyMs : limits.longestAlarmMs) + stopMs
        ? [key]
        : [],
    );
  }
}
