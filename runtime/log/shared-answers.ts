/**
 * Answers that callers share where each must be newer than the call: who calls while a question is
 * on its way shares the next one, which begins when that one ends.
 */
type Question<Answer> = { readonly ended: Promise<void>; next?: Promise<Answer> };

export class SharedAnswers<Answer> {
  readonly #ask: (about: string) => Promise<Answer>;
  /** those on their way */
  readonly #questions = new Map<string, Question<Answer>>();

  constructor(ask: (about: string) => Promise<Answer>) {
    this.#ask = ask;
  }

  /** @throws what the question throws */
  get(about: string): Promise<Answer> {
    const question = this.#questions.get(about);
    if (!question) return this.#begin(about);
    return (question.next ??= question.ended.then(() => this.#begin(about)));
  }

  #begin(about: string): Promise<Answer> {
    const answer = this.#ask(about);
    const end = () => {
      if (this.#questions.get(about) === question) this.#questions.delete(about);
    };
    const question: Question<Answer> = { ended: answer.then(end, end) };
    this.#questions.set(about, question);
    return answer;
  }
}
