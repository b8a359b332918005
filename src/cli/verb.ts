import { Option } from 'commander';

/** What the verbs are hung in with; what each does lies in a file of its own, loaded when it is called. */
export interface Verbs {
  /** A new option for the control socket. */
  readonly socket: () => Option;
  readonly done: (code: number) => void;
}

export const defaultSocket = '/run/siteward/control.sock';
export const defaultConfig = '/etc/siteward/siteward.yaml';

export const configOption = (what = 'configuration file'): Option =>
  new Option('--config <file>', what).default(defaultConfig);

/** For an option that may be given several times. */
export const collect = (text: string, list: readonly string[]): readonly string[] => [...list, text];
