import type { OtherProblem, Settings } from '#config/index.ts';
import { panelProblems } from './folders.ts';
import { certificateProblems } from './given-certificate.ts';

/** What only other rooms than the configuration's own can judge of a file. */
export function otherProblems(configPath: string): (settings: Settings) => readonly OtherProblem[] {
  const ofPanels = panelProblems(configPath);
  return (settings) => [...ofPanels(settings), ...certificateProblems(settings)];
}
