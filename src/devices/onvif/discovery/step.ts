import { describe, type ErrorCode, SitewardError } from '#errors.ts';

export type StepName =
  | 'reach'
  | 'certificate'
  | 'onvif'
  | 'clock'
  | 'login'
  | 'device'
  | 'channels'
  | 'streams'
  | 'picture'
  | 'topics'
  | 'events'
  | 'unsubscribe';

type Fact = string | number | boolean | null | readonly (string | number | { readonly [name: string]: Fact })[];

/** One step of an examination, told when it is done. */
export interface Step {
  readonly name: StepName;
  /** `warning`: works, but not as it should. */
  readonly result: 'ok' | 'warning' | 'failed';
  /** What was seen, in words; may hold the device's own texts. */
  readonly text: string;
  /** More of it, one line each. */
  readonly more?: readonly string[];
  /** What to do about it, one line each. */
  readonly advice?: readonly string[];
  readonly facts?: Readonly<Record<string, Fact>>;
  /** Of a failed step: the code of the error. */
  readonly code?: ErrorCode;
}

export const failed = (name: StepName, error: unknown, advice: readonly string[]): Step => ({
  name,
  result: 'failed',
  text: describe(error),
  advice,
  ...(error instanceof SitewardError && { code: error.code }),
});

/** For what a device need not answer: undefined, unless the examination is over. */
export const orNothing = (signal: AbortSignal) => (): undefined => {
  signal.throwIfAborted();
};
