from attnexp.core.command import carrying_out, command_of, current_command


def test_a_command_is_known_while_it_is_carried_out():
    assert current_command() is None
    with carrying_out(command_of(["plot", "a b"])):
        assert current_command() == "attnexp plot 'a b'"
        with carrying_out(None):
            assert current_command() is None
        assert current_command() == "attnexp plot 'a b'"
    assert current_command() is None
