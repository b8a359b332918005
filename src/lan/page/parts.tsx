import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useWords } from './context.ts';
import { errorText, type Meanings } from './error-text.ts';
import type { Tone } from './findings.ts';

const signs: Readonly<Record<Tone, string>> = { good: '✓', note: '!', bad: '✕', plain: '' };

/** A state in a word and a sign, never by its colour alone. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      {tone !== 'plain' && <span aria-hidden="true">{signs[tone]} </span>}
      {children}
    </span>
  );
}

export function Card(props: { title?: ComponentChildren; aside?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="card">
      {(props.title !== undefined || props.aside !== undefined) && (
        <header>
          {props.title !== undefined && <h2>{props.title}</h2>}
          {props.aside}
        </header>
      )}
      {props.children}
    </section>
  );
}

/** What a control is told apart by, and what stands beside it for whoever it is read to. */
export interface Labelled {
  readonly name: string;
  readonly label: ComponentChildren;
  readonly hint?: string;
  /** What is wrong with it. */
  readonly fault?: string | undefined;
}

type ControlProps = { id: string; name: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' };

/** A control with its label, its hint and what is wrong with it; `children` draws the control. */
export function Labelling({
  name,
  label,
  hint,
  fault,
  children,
}: Labelled & { children: (control: ControlProps) => VNode }) {
  const id = `field-${name}`;
  const about = [...(hint === undefined ? [] : [`${id}-hint`]), ...(fault === undefined ? [] : [`${id}-fault`])];
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        ...{ id, name },
        ...(about.length > 0 && { 'aria-describedby': about.join(' ') }),
        ...(fault !== undefined && { 'aria-invalid': 'true' }),
      })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault !== undefined && (
        <p class="trouble" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

export function Field(
  props: Labelled & {
    value: string;
    onInput: (value: string) => void;
    type?: 'text' | 'password';
    autocomplete?: string;
    inputMode?: 'numeric' | 'text';
    required?: boolean;
  },
) {
  return (
    <Labelling {...props}>
      {(control) => (
        <input
          {...control}
          // The types of the two kinds of field exclude each other.
          {...({ type: props.type ?? 'text' } as { type: 'text' })}
          value={props.value}
          required={props.required ?? true}
          {...(props.autocomplete !== undefined && { autocomplete: props.autocomplete })}
          {...(props.inputMode !== undefined && { inputMode: props.inputMode })}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
      )}
    </Labelling>
  );
}

/** One of a few words. */
export function Choice(
  props: Labelled & {
    value: string;
    onInput: (value: string) => void;
    options: readonly (readonly [value: string, label: string])[];
  },
) {
  return (
    <Labelling {...props}>
      {(control) => (
        <select {...control} value={props.value} onChange={(event) => props.onInput(event.currentTarget.value)}>
          {props.options.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Labelling>
  );
}

/** What went wrong, in words, read out at once. */
export function Trouble({ error, meanings }: { error: unknown; meanings?: Meanings }) {
  const words = useWords();
  if (error === undefined) return null;
  return (
    <p class="trouble" role="alert">
      {errorText(error, words, meanings)}
    </p>
  );
}

/** Work that is under way: its button waits, and what went wrong is kept to be shown. */
export function useWork(): { busy: boolean; error: unknown; run(work: () => Promise<void>): void; clear(): void } {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  return {
    busy,
    error,
    clear: () => setError(undefined),
    run(work) {
      setBusy(true);
      setError(undefined);
      work()
        .catch((failure: unknown) => setError(failure))
        .finally(() => setBusy(false));
    },
  };
}
