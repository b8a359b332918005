import type { Command, Option } from 'commander';
import { addDiscover } from './camera-discover.ts';

/** What each verb of `siteward camera` is hung in with; they live in files of their own, camera-VERB.ts. */
export interface CameraVerbs {
  /** A new option for the control socket. */
  readonly socket: () => Option;
  readonly done: (code: number) => void;
}

/** The verbs of `siteward camera`, in the order of `--help` and of docs/cli.md. */
export function addCamera(program: Command, verbs: CameraVerbs): void {
  const camera = program.command('camera').description('find, try and manage cameras and recorders');
  addDiscover(camera, verbs);
}
