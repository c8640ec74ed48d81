"""Google Gemini in its own form: `generateContent` of the Gemini API, v1beta."""
