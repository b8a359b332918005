import { z } from 'zod';
import type { DeviceId, PartitionId, ZoneNumber } from './ids.ts';

/** The ten words of a partition's state on the LAN (Home Assistant's, with `unknown`). */
export const armingWords = [
  'disarmed',
  'arming',
  'armed_home',
  'armed_away',
  'armed_night',
  'armed_vacation',
  'armed_custom_bypass',
  'pending',
  'triggered',
  'unknown',
] as const;
export const armingWord = z.enum(armingWords);
export type ArmingWord = z.infer<typeof armingWord>;

export const armModes = ['away', 'home', 'night', 'vacation', 'custom'] as const;
export const armMode = z.enum(armModes);
export type ArmMode = z.infer<typeof armMode>;

/** What a panel is told to do with a partition. */
export type ArmAction = 'disarm' | `arm_${ArmMode}`;
/** The same, and with one of its zones. */
export type PanelAction = ArmAction | 'bypass' | 'unbypass';

export const armedWord: Readonly<Record<ArmMode, ArmingWord>> = {
  away: 'armed_away',
  home: 'armed_home',
  night: 'armed_night',
  vacation: 'armed_vacation',
  custom: 'armed_custom_bypass',
};

export function modeOf(word: ArmingWord): ArmMode | null {
  for (const mode of armModes) if (armedWord[mode] === word) return mode;
  return null;
}

export const isArmed = (word: ArmingWord): boolean => word.startsWith('armed_');

/** Words of a partition in which an alarm is running or about to. */
export const alarming = (word: ArmingWord): boolean => word === 'pending' || word === 'triggered';

/** Armed, on the way to it, or in what follows from it. */
export const isSet = (word: ArmingWord): boolean => isArmed(word) || word === 'arming' || alarming(word);

/** How a partition is armed, for what depends on it. What is unknown or stale is never disarmed (safety 2). */
export function armedAs({
  state,
  mode,
  stale,
}: Pick<PartitionState, 'state' | 'mode' | 'stale'>): ArmMode | 'disarmed' | 'arming' | 'unknown' {
  if (state === 'unknown' || (stale && (state === 'disarmed' || state === 'arming'))) return 'unknown';
  if (state === 'arming') return 'arming';
  if (mode !== null) return mode;
  // Pending without a mode is a panel that was armed before it was first heard; triggered without one, a 24-hour alarm of a partition that is disarmed.
  return state === 'pending' ? 'unknown' : 'disarmed';
}

/** Whether `said` would end the protection or the alarm that is known. */
export const isCalmer = (known: ArmingWord, said: ArmingWord): boolean =>
  said !== known && known !== 'unknown' && (known === 'triggered' || (said === 'disarmed' && known !== 'disarmed'));

export const armingSource = z.enum(['panel', 'lan', 'schedule', 'cloud', 'cli', 'engine']);
export type ArmingSource = z.infer<typeof armingSource>;

/** Who decides a partition's state: its panel, siteward's own engine, or a system siteward only watches. */
export const authority = z.enum(['panel', 'engine', 'external']);
export type Authority = z.infer<typeof authority>;

/** A moment on both clocks of one boot, so that a delay continues exactly after a restart of the daemon. */
export interface Deadline {
  readonly mono: number;
  readonly wall: number;
  readonly boot: string;
}

/** One partition as it stands. `seq` is the arming sequence: +1 with each committed transition, never reused. */
export interface PartitionState {
  readonly id: PartitionId;
  /** Who decides it: `engine`, `external`, or `panel:<id>`. */
  readonly owner?: string;
  readonly state: ArmingWord;
  /** The mode it is armed in, or arming to; null when disarmed or unknown. */
  readonly mode: ArmMode | null;
  readonly seq: number;
  /** Wall clock of the last transition, milliseconds. */
  readonly at: number;
  readonly source: ArmingSource;
  readonly changedBy?: string;
  /** The panel cannot be heard: the state is the last one known. */
  readonly stale: boolean;
  readonly exitEnds?: Deadline;
  readonly entryEnds?: Deadline;
  /** Zones in alarm since the last arming. */
  readonly memory: readonly ZoneNumber[];
  /** The zone and kind of the alarm that runs or started the entry delay. */
  readonly alarm?: {
    readonly zone?: ZoneNumber;
    readonly camera?: DeviceId;
    readonly kind: string;
    /** Wall clock, milliseconds; of what shows without a transition, such as a fire. */
    readonly since?: number;
  };
  readonly incident?: string;
  /** A command that waits for the panel to confirm it. */
  readonly request?: { readonly commandId: string; readonly target: 'disarmed' | ArmMode; readonly deadline: Deadline };
}

/** The durable record of one committed transition. */
export interface ArmingRecord {
  readonly partition: PartitionId;
  readonly seq: number;
  readonly epoch: number;
  readonly state: ArmingWord;
  readonly mode: ArmMode | null;
  readonly at: number;
  readonly source: ArmingSource;
  readonly changedBy?: string;
  readonly commandId?: string;
}

/** One command to a panel. */
export interface PanelCommand {
  readonly panel: DeviceId;
  readonly partition: PartitionId;
  /** Of `bypass` and `unbypass`. */
  readonly zone?: ZoneNumber;
  readonly action: PanelAction;
  readonly commandId: string;
}
