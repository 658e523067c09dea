//! A host in memory, for unit tests of harnesses.
//!
//! Knows how to play a scripted model and scripted tools, and remembers what the harness did. It
//! saves and loads the state between steps as the real host does, so a field that serde skips is
//! found here; and it keeps a journal as the real host does ([`record`]), so a harness that reads its
//! own can be tried.

mod record;

use std::{
    cell::{Ref, RefCell},
    collections::{BTreeMap, VecDeque},
    fmt,
    rc::Rc,
};

use crate::{
    harness::{self, Failure, Harness, Input, Next},
    json::JsonText,
    log::Level,
    model::{
        Completion, Content, Finish, ModelError, ModelResult, Outcome, Request, ToolResult, ToolUse, Usage,
    },
    part::{Part, text_of},
    session::{Calls, Child, Info, JournalEvent, Session, Slice},
    tool::{Effect, ToolDef},
};

/// Steps of one turn before a fake calls it endless.
const STEPS_MAX: u32 = 1000;

type FakeTool = Box<dyn Fn(&ToolUse) -> ToolResult>;

#[derive(Default)]
struct World {
    replies: VecDeque<ModelResult>,
    tools: BTreeMap<String, FakeTool>,
    info: Info,
    requests: Vec<Request>,
    uses: Vec<ToolUse>,
    said: Vec<String>,
    emitted: Vec<(String, JsonText)>,
    journal: Vec<JournalEvent>,
    title: Option<String>,
    activity: Option<String>,
    seq: u32,
    turns: u32,
    /// Steps of the open turn; none: no turn is open.
    steps: Option<u32>,
    meanwhile: VecDeque<harness::Message>,
}

impl World {
    fn append(&mut self, kind: &str, data: JsonText) -> u32 {
        self.seq += 1;
        self.journal.push(JournalEvent {
            seq: self.seq,
            kind: kind.to_owned(),
            turn: Some(self.info.turn.clone()),
            at: "2026-01-01T00:00:00.000Z".to_owned(),
            data,
        });
        self.seq
    }
}

/// A host in memory: script it, run turns, look at what the harness did.
///
/// ```
/// use rewake_sdk::{prelude::*, testing::{self, Fake}};
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Echo;
///
/// impl Harness for Echo {
///     const STATE_VERSION: u32 = 1;
///     fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
///         let messages = vec![Message::user(input.text())];
///         cx.say(cx.model(Request { messages, ..Request::default() })?.text());
///         Ok(Next::Done)
///     }
/// }
///
/// let host = Fake::new().reply("hello");
/// assert_eq!(host.turn(&mut Echo, testing::input("hi")), Ok(Next::Done));
/// assert_eq!(host.said(), ["hello"]);
/// ```
#[derive(Clone, Default)]
pub struct Fake(Rc<RefCell<World>>);

impl Fake {
    /// A host whose model has nothing to say and which has no tools.
    #[must_use]
    pub fn new() -> Self {
        let fake = Self::default();
        fake.0.borrow_mut().info = Info {
            id: "session".to_owned(),
            agent: "agent".to_owned(),
            turn: "turn_0".to_owned(),
            instructions: "Be brief.".to_owned(),
            config: JsonText::default(),
        };
        fake
    }

    /// The model's next reply: text, and the turn may end.
    #[must_use]
    pub fn reply(self, text: &str) -> Self {
        self.completion(Finish::End, vec![Content::Part(Part::text(text))])
    }

    /// The model's next reply: a wish for one tool.
    #[must_use]
    pub fn reply_use(self, tool: &str, input: serde_json::Value) -> Self {
        let id = format!("use-{}", self.0.borrow().replies.len() + 1);
        self.completion(Finish::ToolUse, vec![Content::ToolUse(ToolUse::new(id, tool, input))])
    }

    /// The model's next reply: none.
    #[must_use]
    pub fn reply_error(self, error: ModelError) -> Self {
        self.result(Err(error))
    }

    /// The model's next reply: why it ended, and what it holds.
    #[must_use]
    pub fn completion(self, finish: Finish, content: Vec<Content>) -> Self {
        self.result(Ok(Completion {
            model: "scripted".to_owned(),
            content,
            finish,
            usage: Usage::default(),
            context_tokens: None,
        }))
    }

    /// What comes of asking the model next, in full.
    #[must_use]
    pub fn result(self, result: ModelResult) -> Self {
        self.0.borrow_mut().replies.push_back(result);
        self
    }

    /// A message that comes while the next turn runs. A step that ends with
    /// [`Next::more_with_messages`] has it given to the next one.
    #[must_use]
    pub fn meanwhile(self, text: &str) -> Self {
        let message = super::input(text).messages.remove(0);
        self.0.borrow_mut().meanwhile.push_back(message);
        self
    }

    /// A tool that answers this.
    #[must_use]
    pub fn tool(self, name: &str, text: &str) -> Self {
        self.tool_outcome(name, Outcome::Ok, text)
    }

    /// A tool that ends this way.
    #[must_use]
    pub fn tool_outcome(self, name: &str, outcome: Outcome, text: &str) -> Self {
        let text = text.to_owned();
        self.tool_fn(name, move |tool_use| ToolResult::new(&tool_use.id, outcome, text.clone()))
    }

    /// A tool that is a function.
    #[must_use]
    pub fn tool_fn(self, name: &str, run: impl Fn(&ToolUse) -> ToolResult + 'static) -> Self {
        self.0.borrow_mut().tools.insert(name.to_owned(), Box::new(run));
        self
    }

    /// The bundle's configuration.
    #[must_use]
    pub fn config(self, config: serde_json::Value) -> Self {
        self.0.borrow_mut().info.config = JsonText::from(config);
        self
    }

    /// An entry that the journal already holds.
    #[must_use]
    pub fn entry(self, kind: &str, data: serde_json::Value) -> Self {
        self.0.borrow_mut().append(kind, JsonText::from(data));
        self
    }

    /// A session that calls this host.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::new(Box::new(self.clone()))
    }

    /// Runs steps until the harness has no more to do: its state goes through `save` and `load`
    /// after each. A turn that waits for answers goes on if this is called with them.
    ///
    /// # Errors
    /// The failure of a step; the state is then what it was before that step.
    ///
    /// # Panics
    /// If the state does not survive being saved and loaded, or the turn has 1,000 steps.
    pub fn turn<H: Harness>(&self, harness: &mut H, input: Input) -> Result<Next, Failure> {
        let mut input = input;
        let first = self.0.borrow_mut().begin_turn(&input);
        for step in first..first + STEPS_MAX {
            input.step = step;
            self.0.borrow_mut().begin_step(&input);
            let mut running = reloaded(harness);
            let ended = running.step(std::mem::take(&mut input), &self.session());
            let next = ended.inspect_err(|failure| self.0.borrow_mut().failed(failure))?;
            *harness = reloaded(&running);
            self.0.borrow_mut().end_step(&next);
            if !next.goes_on() {
                return Ok(next);
            }
            if next != Next::More {
                input.messages = self.0.borrow_mut().steer();
            }
        }
        panic!("the turn has taken {STEPS_MAX} steps and the harness still wants more");
    }

    /// Forgets the open turn, whose end the test wrote with [`Fake::entry`]: the next message opens
    /// another one.
    pub fn close_turn(&self) {
        self.0.borrow_mut().steps = None;
    }

    /// The journal, in order.
    #[must_use]
    pub fn journal(&self) -> Vec<JournalEvent> {
        self.0.borrow().journal.clone()
    }

    /// What the model was asked, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.0.borrow().requests.clone()
    }

    /// The tools that were called, in order.
    #[must_use]
    pub fn uses(&self) -> Vec<ToolUse> {
        self.0.borrow().uses.clone()
    }

    /// What the agent said, in order.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        self.0.borrow().said.clone()
    }

    /// What the harness appended, in order: kind and data.
    #[must_use]
    pub fn emitted(&self) -> Vec<(String, JsonText)> {
        self.0.borrow().emitted.clone()
    }

    /// The session's title.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.0.borrow().title.clone()
    }

    /// What is being done now.
    #[must_use]
    pub fn activity(&self) -> Option<String> {
        self.0.borrow().activity.clone()
    }

    fn world(&self) -> Ref<'_, World> {
        self.0.borrow()
    }
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let world = self.world();
        f.debug_struct("Fake").field("said", &world.said).field("uses", &world.uses).finish()
    }
}

fn reloaded<H: Harness>(harness: &H) -> H {
    match harness::load(&harness::save(harness)) {
        Ok(harness) => harness,
        Err(error) => panic!("the state does not survive being saved: {error}"),
    }
}

impl Calls for Fake {
    fn model(&self, request: Request) -> ModelResult {
        let mut world = self.0.borrow_mut();
        world.requests.push(request);
        let asked = world.requests.len();
        let result = world.replies.pop_front().unwrap_or_else(|| {
            let had = asked - 1;
            Err(ModelError::Rejected(format!("the fake has only {had} replies")))
        });
        world.record_model(&result);
        result
    }

    fn tools(&self) -> Vec<ToolDef> {
        let def = |name: &String| ToolDef {
            name: name.clone(),
            description: String::new(),
            input_schema: JsonText::from(serde_json::json!({ "type": "object" })),
            effect: Effect::Once,
        };
        self.world().tools.keys().map(def).collect()
    }

    fn call_tools(&self, uses: &[ToolUse]) -> Vec<ToolResult> {
        self.0.borrow_mut().uses.extend_from_slice(uses);
        let world = self.world();
        let call = |tool_use: &ToolUse| match world.tools.get(&tool_use.name) {
            Some(run) => run(tool_use),
            None => {
                let text = format!("this session has no tool `{}`", tool_use.name);
                ToolResult::new(&tool_use.id, Outcome::Error, text)
            }
        };
        let results: Vec<ToolResult> = uses.iter().map(call).collect();
        drop(world);
        self.0.borrow_mut().record_tools(uses, &results);
        results
    }

    fn info(&self) -> Info {
        self.world().info.clone()
    }

    fn events(&self, slice: &Slice) -> Vec<JournalEvent> {
        let wanted = |event: &&JournalEvent| {
            event.seq > slice.after
                && slice.before.is_none_or(|before| event.seq < before)
                && (slice.kinds.is_empty() || slice.kinds.contains(&event.kind))
        };
        let world = self.world();
        let mut events: Vec<JournalEvent> = world.journal.iter().filter(wanted).cloned().collect();
        if slice.newest_first {
            events.reverse();
        }
        events.truncate(slice.limit as usize);
        events
    }

    fn blob(&self, digest: &str, _offset: u32, _length: u32) -> Result<Vec<u8>, String> {
        Err(format!("no event of this session names the blob {digest}"))
    }

    fn say(&self, parts: &[Part]) -> u32 {
        let mut world = self.0.borrow_mut();
        let text = text_of(parts);
        let data = JsonText::from(serde_json::json!({ "parts": [{ "type": "text", "text": text }] }));
        world.said.push(text);
        world.append("agent.message", data)
    }

    fn emit(&self, kind: &str, data: &JsonText) -> Result<u32, String> {
        if !kind.starts_with("custom.") {
            return Err(format!("`{kind}` is not a kind of yours: it must begin with `custom.`"));
        }
        let mut world = self.0.borrow_mut();
        world.emitted.push((kind.to_owned(), data.clone()));
        Ok(world.append(kind, data.clone()))
    }

    fn set_title(&self, title: &str) {
        let title: String = title.chars().take(64).collect();
        let mut world = self.0.borrow_mut();
        world.append("agent.title", JsonText::from(serde_json::json!({ "title": title })));
        world.title = Some(title);
    }

    fn set_activity(&self, line: &str) {
        self.0.borrow_mut().activity = Some(line.to_owned());
    }

    fn spawn(&self, child: &Child) -> Result<String, String> {
        Err(format!("not available here: this host starts no session of `{}`", child.agent))
    }

    fn archive(&self, _handoff: Option<&str>) -> Result<(), String> {
        Err("not available here".to_owned())
    }

    fn log(&self, level: Level, message: &str) {
        super::print_log(level, message);
    }
}
