/** What a timer is for; `of` names a run, a playback or an alarm. */
export type TimerKind =
  /** Of a run. */
  | 'prepare'
  | 'journal'
  | 'start'
  | 'busy'
  | 'playing'
  | 'stop'
  /** Of a playback. */
  | 'together'
  | 'expire'
  /** Of an alarm. */
  | 'longest'
  /** Of the engine. */
  | 'close'
  | 'close_alarms';

export interface Timer {
  readonly kind: TimerKind;
  readonly of: string;
}

export const timerId = ({ kind, of }: Timer): string => `${kind}:${of}`;
