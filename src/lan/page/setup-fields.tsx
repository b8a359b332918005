import type { ComponentChildren } from 'preact';
import { useWords } from './context.ts';
import { Badge, Field, type Labelled, Labelling } from './parts.tsx';
import { secretState } from './pending.ts';

interface SecretProps extends Labelled {
  /** As it stands in the configuration, or among what is to be saved. */
  readonly value: unknown;
  /** Undefined: as it was. */
  readonly onSecret: (secret: { readonly secret: string } | undefined) => void;
}

const typedOf = (value: unknown): string =>
  secretState(value) === 'new' ? (value as { readonly secret: string }).secret : '';

const secretOf = (text: string) => (text === '' ? undefined : { secret: text });

/** A secret goes in and never comes out: only whether there is one is shown. */
export function SecretField({ value, onSecret, ...labelled }: SecretProps) {
  return (
    <>
      <Field
        {...labelled}
        {...{ type: 'password', value: typedOf(value), autocomplete: 'new-password', required: false }}
        onInput={(text) => onSecret(secretOf(text))}
      />
      <SecretShown value={value} />
    </>
  );
}

const longestFile = 65_536;

/** A secret of several lines, pasted or from a file. */
export function SecretFile({ value, onSecret, ...labelled }: SecretProps) {
  const { t } = useWords();
  return (
    <>
      <Labelling {...labelled}>
        {(control) => (
          <textarea
            {...control}
            {...{ rows: 3, value: typedOf(value), autocomplete: 'off', spellcheck: false }}
            onInput={(event) => onSecret(secretOf(event.currentTarget.value))}
          />
        )}
      </Labelling>
      <Labelling name={`${labelled.name}-file`} label={t('setup.file')}>
        {(control) => (
          <input
            {...control}
            type="file"
            onChange={({ currentTarget: input }) => {
              const file = input.files?.[0];
              if (file === undefined || file.size > longestFile) return;
              void file.text().then((text) => {
                onSecret(secretOf(text.trimEnd()));
                input.value = '';
              });
            }}
          />
        )}
      </Labelling>
      <SecretShown value={value} />
    </>
  );
}

function SecretShown({ value }: { value: unknown }) {
  const { word } = useWords();
  const state = secretState(value);
  return (
    <p class="hint">
      <Badge tone={state === 'set' ? 'good' : state === 'new' ? 'note' : 'plain'}>{word('secret', state)}</Badge>
    </p>
  );
}

/** Something that must be typed as it stands before its button works. */
export function TypedConfirmation(props: {
  name: string;
  label: ComponentChildren;
  wanted: string;
  typed: string;
  onTyped: (typed: string) => void;
  busy: boolean;
  action: string;
  onAction: () => void;
  children?: ComponentChildren;
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (props.typed === props.wanted && !props.busy) props.onAction();
      }}
    >
      <Field
        {...{ name: props.name, label: props.label, value: props.typed, autocomplete: 'off' }}
        onInput={props.onTyped}
      />
      {props.children}
      <button type="submit" disabled={props.busy || props.typed !== props.wanted}>
        {props.action}
      </button>
    </form>
  );
}
