--- What the agent asks the user: one question after the other, answered by a key in the panel or by vim.ui.select.
---   { title, call_id, choices = { { key, label, run } }, dismiss }
--- Exactly one of `choice.run` and `dismiss` is called, once.
local config = require("acp_adapter.config")

local M = {}

local function take(session, question)
  for at, other in ipairs(session.questions) do
    if other == question then
      table.remove(session.questions, at)
      return true
    end
  end
  return false
end

local function select_next(session)
  local question = session.questions[1]
  if config.values.permissions ~= "select" or not question or question.selecting then
    return
  end
  question.selecting = true
  vim.ui.select(question.choices, {
    prompt = question.title,
    kind = "acp_adapter_question",
    format_item = function(choice)
      return choice.label
    end,
  }, function(choice)
    question.selecting = false
    if choice then
      M.choose(session, question, choice)
    end
    -- Left unanswered it stays open in the panel, where it can be answered by key.
  end)
end

--- Ask. A session that is not shown says in a notification that it has a question.
function M.ask(session, question)
  table.insert(session.questions, question)
  session.listener("tail")
  session.listener("status")
  if not session.is_shown then
    vim.notify(("%s asks: %s (:AcpSessions)"):format(session.title or "A session", question.title), vim.log.levels.WARN)
  end
  vim.schedule(function()
    select_next(session)
  end)
end

function M.choose(session, question, choice)
  if take(session, question) then
    choice.run()
    session.listener("tail")
    session.listener("status")
    select_next(session)
  end
end

--- Answer all that are open as not answered: the turn was stopped.
function M.dismiss_all(session)
  for _, question in ipairs(vim.list_slice(session.questions)) do
    if take(session, question) then
      question.dismiss()
    end
  end
  session.listener("tail")
  session.listener("status")
end

--- The call ended without an answer: nobody waits for one any more.
function M.drop(session, call_id)
  for _, question in ipairs(vim.list_slice(session.questions)) do
    if call_id and question.call_id == call_id then
      take(session, question)
      question.dismiss()
      session.listener("tail")
      session.listener("status")
    end
  end
end

--- The agent is gone: there is nobody to answer.
function M.forget(session)
  session.questions = {}
end

return M
