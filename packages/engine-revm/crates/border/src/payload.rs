/// Always ASCII: `TextWriter` and `upfront_engine::answer` write nothing else.
#[derive(Default)]
pub struct Payload {
    pub text: Vec<u8>,
    /// The rest of the text, if it is long.
    pub json: Option<Vec<u8>>,
}

impl From<Vec<u8>> for Payload {
    fn from(text: Vec<u8>) -> Self {
        Self { text, json: None }
    }
}
