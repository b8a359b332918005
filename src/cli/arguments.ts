import { InvalidArgumentError } from 'commander';

/** Reads a whole number; `said` stands before its bounds where another is refused. */
export const whole =
  (least: number, most: number, said = '') =>
  (text: string): number => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (!Number.isInteger(value) || value < least || value > most)
      throw new InvalidArgumentError(`It must be ${said}${least} to ${most}.`);
    return value;
  };
