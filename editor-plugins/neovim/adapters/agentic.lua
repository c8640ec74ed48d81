-- acp-adapter in agentic.nvim: put this into your init.lua. Then require("agentic").toggle() opens its chat.
-- Editors seldom see a virtual environment's PATH: name the program by its full path there.
require("agentic").setup({
  provider = "acp-adapter",
  acp_providers = {
    ["acp-adapter"] = { command = "acp-adapter", args = {} },
  },
})
